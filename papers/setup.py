"""The packages of this folder, each a paper; everything else is in pyproject.toml."""

from setuptools import find_packages, setup

if __name__ == "__main__":  # setuptools runs this file as a script
    setup(package_dir={"papers": "."}, packages=["papers", *(f"papers.{name}" for name in find_packages())])
