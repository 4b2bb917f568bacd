"""The command line, where no script is on the path: python -m dpforest."""

from dpforest.cli import app

if __name__ == "__main__":
    app()
