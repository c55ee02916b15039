"""The notebooks as text, handed out and handed in: nothing here runs a cell."""
