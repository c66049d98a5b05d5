# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""What a build directory tells of itself: only what Meson documents, and ninja's file."""

from __future__ import annotations

import configparser
import datetime
import json
import os
import re
import shlex
import shutil
import typing as T

from .refusal import Refusal

class BuildDir:
    def __init__(self, folder: str) -> None:
        self.path = os.path.realpath(folder)
        try:
            info = self._introspection('meson-info.json')
            self.source = os.path.realpath(info['directories']['source'])
            self.meson_version = str(info['meson_version']['full'])
        except (Refusal, KeyError):
            raise Refusal(f'{folder} is no build directory of Meson: name one with -C') from None

    def _introspection(self, name: str) -> T.Any:
        path = os.path.join(self.path, 'meson-info', name)
        try:
            with open(path, encoding='utf-8') as file:
                return json.load(file)
        except (OSError, ValueError):
            raise Refusal(f'{path} cannot be read: configure again (meson setup --reconfigure '
                          f'{self.path})') from None

    def coverage(self) -> T.Optional[bool]:
        """The option b_coverage; None: no compiler here has it."""
        for option in self._introspection('intro-buildoptions.json'):
            if option['name'] == 'b_coverage':
                return bool(option['value'])
        return None

    def subproject_folder(self) -> str:
        return str(self._introspection('intro-projectinfo.json').get('subproject_dir')
                   or 'subprojects')

    def subprojects(self) -> T.List[str]:
        """Those of the last configuration."""
        told = self._introspection('intro-projectinfo.json').get('subprojects', [])
        return sorted(str(each['name']) for each in told)

    def knows_subproject(self, name: str) -> bool:
        """Also one that this configuration does without."""
        path = os.path.join(self.source, self.subproject_folder(), name)
        return name in self.subprojects() or \
            name != '' and (os.path.isdir(path) or os.path.isfile(path + '.wrap'))

    def folder_of_subproject(self, name: str) -> str:
        """Below subproject_folder(); a wrap file may name another than that of the subproject."""
        wrap = configparser.ConfigParser(interpolation=None)
        path = os.path.join(self.source, self.subproject_folder(), name + '.wrap')
        try:
            wrap.read(path, encoding='utf-8')
            for section in wrap.sections():
                if section.startswith('wrap'):
                    return wrap.get(section, 'directory', fallback=name)
        except (OSError, ValueError, configparser.Error):
            pass
        return name

    def built_here(self, name: str) -> str:
        """A program of that name among the targets: '' or its path."""
        for target in self._introspection('intro-targets.json'):
            if target['name'] == name and target['type'] == 'executable':
                for path in target['filename']:
                    if os.access(path, os.X_OK):
                        return str(path)
        return ''

    @property
    def logs(self) -> str:
        return os.path.join(self.path, 'meson-logs')

    def configured_at(self) -> float:
        """When the last configuration began, in seconds since the epoch; 0: not known."""
        try:
            with open(os.path.join(self.logs, 'meson-log.txt'), encoding='utf-8',
                      errors='replace') as log:
                told = re.match(r'Build started at (\S+)', log.readline())
                # A configuration that failed has left everything as it was.
                if not any(line.startswith('Build targets in project') for line in log):
                    return 0.0
            if not told:
                return 0.0
            begun = datetime.datetime.fromisoformat(told.group(1)).replace(
                tzinfo=datetime.timezone.utc).timestamp()
            ended = os.stat(os.path.join(self.path, 'build.ninja')).st_mtime
        except (OSError, ValueError):
            return 0.0
        # It is told in some local time, and zones differ by quarters of an hour: the last such
        # time before the end.
        return ended - (ended - begun) % (15 * 60)

    def meson(self) -> T.List[str]:
        """The command of the Meson that made it, which alone can read its test data; else that on
        PATH."""
        try:
            with open(os.path.join(self.path, 'build.ninja'), encoding='utf-8') as file:
                text = file.read()
        except OSError:
            raise Refusal(f'{self.path} has no build.ninja: only the ninja backend is supported') \
                from None
        told = re.search(r'^rule REGENERATE_BUILD\n command = (.*?) "?--internal"? ', text,
                         re.MULTILINE)
        if told:
            words = shlex.split(told.group(1).replace('$ ', ' ').replace('$$', '$'))
            if words and shutil.which(words[0]) and all(
                    os.path.exists(word) for word in words[1:] if os.path.isabs(word)):
                return words
        found = shutil.which('meson')
        if not found:
            raise Refusal('there is no meson on PATH')
        return [found]


def ninja() -> T.List[str]:
    named = os.environ.get('NINJA')
    for name in [named] if named else ['ninja', 'ninja-build', 'samu']:
        found = shutil.which(name)
        if found:
            return [found]
    raise Refusal('there is no ninja on PATH', 127)
