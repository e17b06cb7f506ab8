"""Scripts that make files of the package from public sources. Nothing of the package imports them."""
