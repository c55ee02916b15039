"""The process that an answer runs in: how it is started, asked, and given up."""
