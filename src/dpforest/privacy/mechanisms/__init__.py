"""Noise and private choices: closed to all but the rooms of privacy."""
