"""The report: one self-contained page with figures drawn by hand as SVG."""
