"""Speed, memory and accuracy, measured against peers in the same run."""
