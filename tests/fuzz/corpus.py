"""The corpus of a fuzz target: the archive corpus/TARGET.tar, which tests/fuzz/run unpacks."""
import io
import pathlib
import tarfile


def save_seeds(target, seeds):
    """Replaces the seeds, NAME: bytes, and keeps findings. The same members give the same bytes."""
    path = pathlib.Path(__file__).parent / "corpus" / (target + ".tar")
    members = {"seed_" + name: data for name, data in seeds.items()}
    if path.exists():
        with tarfile.open(path) as old:
            members.update({m.name: old.extractfile(m).read() for m in old if not m.name.startswith("seed_")})
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as new:
        for name, data in sorted(members.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            new.addfile(info, io.BytesIO(data))
