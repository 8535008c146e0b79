"""Program, Layout and Board to a source tree; everything is computed here, not in templates."""
