"""The classic strategies and the files of annotations beside this one."""

import os
import re

FOLDER = os.path.dirname(os.path.abspath(__file__))
STRATEGIES = ["dp8", "tp8", "tp4xdp2", "tp8sp", "tp2d", "fsdp8", "fsdp4xtp2",
              "cp8", "dp2xfsdp2xtp4"]


def annotations(model, strategy):
    """(mesh, path) of the strategy's file, whose first line names the mesh."""
    path = os.path.join(FOLDER, "%s-%s.annotate" % (model, strategy))
    with open(path) as file:
        return re.match(r"# (\S+):", file.readline()).group(1), path
