"""What `cmake --install` leaves is whole: another project builds against it."""

import os
import subprocess
import sys
import tempfile


def run(*command):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        print(done.stdout)
        sys.exit(f"install: failed: {' '.join(command)}")
    return done.stdout


def main(cmake, build, consumer):
    with tempfile.TemporaryDirectory() as folder:
        prefix, out = f"{folder}/prefix", f"{folder}/build"
        run(cmake, "--install", build, "--prefix", prefix)
        run(cmake, "-S", consumer, "-B", out, "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run(cmake, "--build", out)
        # The numbers are of the mesh pp=2,tp=3 that the consumer makes.
        text = run(f"{out}/consumer")
        if text != "6 ranks\n":
            sys.exit(f"install: the consumer printed {text!r}")
        for program in sorted(os.listdir(f"{prefix}/bin")):
            run(f"{prefix}/bin/{program}", "--version")
    print("install: ok")


if __name__ == "__main__":
    main(*sys.argv[1:4])
