"""A class: its reports, grades, tables and pages."""
