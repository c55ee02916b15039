"""The claims of the chapter language_model."""
