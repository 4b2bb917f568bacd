"""Two worker processes of Dask against memory: a round, and a killed worker."""

import os
import signal
import tempfile

from benchmarks.scale_engines import fit, write


def measure(rows, files=8):
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as folder:
        X, y = write(folder, rows, files)
        fit("memory, to load compiled code", X[:2_000], y[:2_000])
        expected, memory, _ = fit("memory", X, y)
        del X, y
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        )
        with cluster, Client(cluster) as client:
            frame = dd.read_parquet(folder)
            print(f"{frame.npartitions} partitions")
            fit("dask, to load compiled code", frame.partitions[:2], "y")
            _, dask, _ = fit("dask", frame, "y", expected)

            def kill():
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

            _, _, lost = fit("dask, a worker killed", frame, "y", expected, kill)
        print(f"over memory: {1000 * (dask - memory):.0f} ms a round (bar 45)")
        print(f"a killed worker costs {lost:.1f} s (bar 5)")
