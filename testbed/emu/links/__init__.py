"""What joins the namespaces of a run: one seam (`base`), a module for each back end."""
