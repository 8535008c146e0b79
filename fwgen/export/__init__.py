"""Export: a built project as sources that build without fwgen."""
