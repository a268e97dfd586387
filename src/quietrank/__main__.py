"""`python -m quietrank`, the same as `quietrank`."""

from quietrank.cli.app import main

if __name__ == "__main__":
    main()
