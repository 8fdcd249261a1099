"""What every study needs: runs by configuration, means over seeds, comparisons, claims, files."""
