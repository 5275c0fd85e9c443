"""Finding Java, or saying how to get it."""

from __future__ import annotations

import pytest

from analysis import AnalysisError
from analysis.java import find_java, java_version


@pytest.fixture
def installed(tmp_path):
    """Makes Java homes of given versions, as Debian lays them out."""

    def make(name, release):
        home = tmp_path / "jvm" / name
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{release}\"' >&2\n")
        (home / "bin" / "java").chmod(0o755)
        (home / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{release}"\n')
        return home

    return make


def test_java_home_decides_which_java_is_used(installed, tmp_path):
    home = installed("java-17", "17.0.12")
    assert find_java({"JAVA_HOME": str(home), "PATH": ""}, tmp_path) == home


@pytest.mark.parametrize("release", ["11.0.2", "1.8.0_392"])
def test_a_java_home_that_is_too_old_is_an_error_though_others_would_do(installed, tmp_path, release):
    old = installed("java-old", release)
    installed("java-17", "17.0.12")
    with pytest.raises(AnalysisError, match=r"JAVA_HOME is .*java-old, which is Java (8|11)\."):
        find_java({"JAVA_HOME": str(old), "PATH": ""}, tmp_path / "jvm")


def test_a_java_home_without_java_is_an_error(tmp_path):
    with pytest.raises(AnalysisError, match="there is no Java there"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""}, tmp_path)


def test_an_installed_java_is_found_behind_an_old_one_on_the_path(installed, tmp_path):
    old, new = installed("java-11", "11.0.2"), installed("java-21", "21")
    assert find_java({"PATH": str(old / "bin")}, tmp_path / "jvm") == new


def test_without_java_the_error_says_how_to_get_it(tmp_path):
    with pytest.raises(AnalysisError, match=r"apt-get install openjdk-17-jre-headless.*found no Java"):
        find_java({"PATH": ""}, tmp_path)


def test_with_old_java_alone_the_error_says_what_was_found(installed, tmp_path):
    installed("java-11", "11.0.2")
    with pytest.raises(AnalysisError, match=r"found .*java-11: Java 11"):
        find_java({"PATH": ""}, tmp_path / "jvm")


def test_a_java_without_a_release_file_is_asked(installed):
    home = installed("java-17", "17.0.12")
    (home / "release").unlink()
    assert java_version(home) == 17
