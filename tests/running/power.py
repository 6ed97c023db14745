"""A disk in memory that loses power: what was not synced survives in part, torn, or not at all."""

from __future__ import annotations

import os

from adjourn.tiers import Files

SECTOR = 512


class PowerLossError(BaseException):
    """The power is gone; no handler of errors should stop it."""


class _Node:
    def __init__(self):
        self.safe = bytearray()
        self.live = bytearray()
        self.pending = []  # writes since the last sync, in order

    def apply(self, target, offset, data):
        if len(target) < offset + len(data):
            target.extend(bytes(offset + len(data) - len(target)))
        target[offset : offset + len(data)] = data


class PowerFiles(Files):
    """Files in memory; at the ``at``-th call the power goes."""

    def __init__(self, at=None):
        self.at = at
        self.calls = 0
        self.names = {}  # path -> node, as the running system sees it
        self.safe_names = {}
        self.fds = {}
        self.locks = set()
        self.directories = set()
        self.next = 10
        self.dead = False

    def _tick(self):
        if self.dead:
            raise PowerLossError
        self.calls += 1
        if self.at is not None and self.calls > self.at:
            self.dead = True
            raise PowerLossError

    def lose_power(self, rng):
        """Return the disk as it is found afterwards."""
        after = PowerFiles()
        after.directories = set(self.directories)
        for path in sorted({*self.names, *self.safe_names}):
            choices = [d[path] for d in (self.names, self.safe_names) if path in d]
            if path not in self.safe_names or path not in self.names:
                choices.append(None)  # a name made or removed since the last sync
            node = rng.choice(choices) if len(choices) > 1 else choices[0]
            if node is None:
                continue
            found = _Node()
            found.safe = bytearray(node.safe)
            for offset, data in node.pending:
                fate = rng.random()
                if fate < 0.4:
                    found.apply(found.safe, offset, data)
                elif fate < 0.7:  # torn: some sectors arrive, in any order
                    for start in range(0, len(data), SECTOR):
                        if rng.random() < 0.5:
                            found.apply(found.safe, offset + start, data[start : start + SECTOR])
            found.live = bytearray(found.safe)
            after.names[path] = after.safe_names[path] = found
        return after

    def open(self, path, flags, mode=0o600):
        self._tick()
        if path not in self.names:
            if not flags & os.O_CREAT:
                raise FileNotFoundError(2, "none", path)
            self.names[path] = _Node()
        elif flags & os.O_EXCL:
            raise FileExistsError(17, "there", path)
        self.next += 1
        self.fds[self.next] = (self.names[path], path)
        return self.next

    def close(self, fd):
        self.fds.pop(fd)
        self.locks.discard(fd)

    def pwrite(self, fd, data, offset):
        self._tick()
        node = self.fds[fd][0]
        node.apply(node.live, offset, bytes(data))
        node.pending.append((offset, bytes(data)))
        return len(data)

    def preadv(self, fd, buffers, offset):
        self._tick()
        data = self.fds[fd][0].live[offset : offset + len(buffers[0])]
        buffers[0][: len(data)] = data
        return len(data)

    def allocate(self, fd, offset, nbytes):
        self._tick()
        node = self.fds[fd][0]
        missing = offset + nbytes - len(node.live)
        if missing > 0:
            node.pending.append((len(node.live), bytes(missing)))
            node.live.extend(bytes(missing))

    def sync(self, fd):
        self._tick()
        node = self.fds[fd][0]
        node.safe = bytearray(node.live)
        node.pending = []

    def size(self, fd):
        return len(self.fds[fd][0].live)

    def truncate(self, fd, nbytes):
        self._tick()
        node = self.fds[fd][0]
        if nbytes < len(node.live):
            del node.live[nbytes:]
            node.safe = node.safe[:nbytes]
            node.pending = [(o, d[: max(nbytes - o, 0)]) for o, d in node.pending if o < nbytes]

    def free(self, directory):
        return 2**40

    def exists(self, path):
        return path in self.names or path in self.directories

    def listdir(self, path):
        return sorted(name[len(path) + 1 :] for name in self.names if name.startswith(path + "/"))

    def make_directory(self, path):
        self.directories.add(path)

    def unlink(self, path):
        self._tick()
        self.names.pop(path, None)

    def remove_directory(self, path):
        self.directories.discard(path)

    def sync_directory(self, path):
        self._tick()
        self.safe_names = dict(self.names)

    def lock(self, fd):
        self.locks.add(fd)
        return True

    def is_at(self, fd, path):
        return self.names.get(path) is self.fds[fd][0]
