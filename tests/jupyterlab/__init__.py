"""The notebooks in JupyterLab, each week."""
