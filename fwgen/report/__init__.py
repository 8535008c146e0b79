"""The page about a build and a run: charts as data, rendered into one HTML file."""
