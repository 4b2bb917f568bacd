"""Parquet files, and data sets of pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dpforest.exceptions import SchemaError, SourceChangedError
from dpforest.schema.column_types import ColumnType
from dpforest.tables.sources import Kinds, Making, Source

BATCH_ROWS = 1 << 16
BUFFER = 1 << 20  # bytes; with pre_buffer, Arrow would hold whole files


class ArrowSource(Source):
    """A data set of pyarrow: its files in their order, the rows of a file in theirs.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.uniform = _has_types(dataset)
        self.names = tuple(dataset.schema.names)
        self._opened = self._stamps()

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the columns, as the files declare them."""
        import pyarrow.types as kinds

        def declared(kind: Any) -> ColumnType | None:
            kind = _value_type(kind)
            if kinds.is_boolean(kind):
                return "boolean"
            if kinds.is_integer(kind):
                return "integer"
            if kinds.is_floating(kind) or kinds.is_decimal(kind):
                return "number"
            texts = (
                kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
            )
            return "category" if texts else None

        found = {field.name: declared(field.type) for field in self._dataset.schema}
        return {name: kind for name, kind in found.items() if kind is not None}

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Some columns as tables of pyarrow."""
        import pyarrow as pa

        self._refuse_changed_files()
        try:
            for batch in self._record_batches(columns):
                yield _plain(pa.Table.from_batches([batch]))
        except (OSError, pa.ArrowException) as error:
            self._refuse_changed_files()
            # What Arrow says may quote a value.
            raise SchemaError(
                f"the source cannot be read ({type(error).__name__}): expected whole files with "
                "the same columns and types"
            ) from None

    def _record_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow.dataset as ds

        parquet = isinstance(getattr(self._dataset, "format", None), ds.ParquetFileFormat)
        options = ds.ParquetFragmentScanOptions(pre_buffer=False, buffer_size=BUFFER)
        scanner = self._dataset.scanner(
            columns=list(columns),
            batch_size=BATCH_ROWS,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=options if parquet else None,
        )
        yield from scanner.to_batches()

    def _stamps(self) -> list[tuple[Any, ...]]:
        """The size and the time of every file."""
        files = getattr(self._dataset, "files", [])
        found = self._dataset.filesystem.get_file_info(files) if files else []
        return [(info.path, info.type, info.size, info.mtime_ns) for info in found]

    def _refuse_changed_files(self) -> None:
        if self._stamps() != self._opened:
            raise SourceChangedError(
                "a file of the source changed or is gone since the source was opened: write it to "
                "a place where nothing changes it, and open it again"
            )

    def require(self, columns: Sequence[str]) -> None:
        """SchemaError when a column is not there, or not the same in all files.

        Arrow would read gaps or convert values, without a word.
        """
        import pyarrow.dataset as ds

        super().require(columns)
        self._refuse_changed_files()
        for file in self._fragments():
            found = _columns_of(file)
            in_folders = ds.get_partition_keys(file.partition_expression)
            for name in [name for name in columns if name not in in_folders]:
                if name not in found.names:
                    raise SchemaError(
                        f"a file of the source has no column {name!r}, which others have: "
                        "write all files with the same columns"
                    )
                types = (schema.field(name).type for schema in (found, self._dataset.schema))
                if len(set(map(_value_type, types))) > 1:
                    raise SchemaError(
                        f"column {name!r} has different types in different files of the source: "
                        "write all files with the same types"
                    )

    def _fragments(self) -> list[Any]:
        """The files, of a filtered data set too."""
        import pyarrow.dataset as ds

        data = self._dataset
        if not hasattr(data, "files"):
            return []
        try:
            return list(data.get_fragments())
        except ValueError:  # Arrow lists the files of whole data sets only
            found = {"format": data.format, "filesystem": data.filesystem}
            whole = ds.dataset(data.files, partitioning=data.partitioning, **found)
            return list(whole.get_fragments())

    def map(self, function: Making, columns: Sequence[str], like: Kinds) -> Any:
        """A RecordBatchReader of the new columns: a stream that is computed as it is read."""
        import pyarrow as pa

        schema = pa.schema([(name, pa.from_numpy_dtype(kind)) for name, kind in like.items()])

        def made() -> Iterator[Any]:
            for batch in self.batches(columns):
                if batch.num_rows:
                    yield pa.RecordBatch.from_pydict(dict(function(batch)), schema)

        return pa.RecordBatchReader.from_batches(schema, made())


class ParquetTable(ArrowSource):
    """A table in Parquet files that is read batch by batch, and never as a whole.

    Its rows are in the order of the paths of its files, and of the rows of each.

    Parameters
    ----------
    path : str or path
        A file, or a folder of files; names of folders like ``year=2024`` are a column ``year`` of
        texts, which spell numbers where the schema declares some.

    Examples
    --------
    >>> from dpforest import ParquetTable, PrivateForestClassifier, datasets
    >>> import pyarrow, pyarrow.parquet, tempfile
    >>> census = datasets.make_census(2_000, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pyarrow.table({name: census.X[name] for name in census.schema.feature_names})
    >>> table = table.append_column("income", pyarrow.array(census.y))
    >>> pyarrow.parquet.write_table(table, f"{folder.name}/part-0.parquet")
    >>> forest = PrivateForestClassifier(schema=census.schema, random_state=0)
    >>> forest = forest.fit(ParquetTable(folder.name), "income")
    >>> folder.cleanup()
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        try:
            import pyarrow.dataset as ds
        except ImportError:
            raise ImportError(
                "ParquetTable needs pyarrow: pip install 'dpforest[parquet]'"
            ) from None
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path}: there is no such file or folder")
        try:
            found = ds.dataset(self.path, format="parquet", partitioning="hive")
            dataset = ds.dataset(self.path, format="parquet", partitioning=_of_texts(found))
        except (OSError, ValueError, TypeError) as error:
            raise SchemaError(
                f"{self.path} cannot be read as Parquet ({type(error).__name__}): expected a whole "
                "Parquet file, or a folder of such files and no others"
            ) from None
        if not dataset.files:
            raise SchemaError(f"{self.path} has no Parquet files: name the folder that has them")
        super().__init__(dataset)

    def _record_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """File by file: a scanner would hold several row groups as a whole."""
        import pyarrow as pa
        import pyarrow.dataset as ds
        import pyarrow.parquet as pq

        for fragment in self._dataset.get_fragments():
            in_folders = ds.get_partition_keys(fragment.partition_expression)
            inside = [name for name in columns if name not in in_folders]
            with pq.ParquetFile(fragment.open(), pre_buffer=False, buffer_size=BUFFER) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=inside):
                    there = dict(zip(batch.schema.names, batch.columns, strict=True))
                    for name in in_folders.keys() & set(columns):
                        value = pa.scalar(in_folders[name], self._dataset.schema.field(name).type)
                        there[name] = pa.repeat(value, batch.num_rows)
                    yield pa.RecordBatch.from_pydict({name: there[name] for name in columns})

    def __repr__(self) -> str:
        return f"ParquetTable({str(self.path)!r})"


def _of_texts(found: Any) -> Any:
    """The columns that names of folders are, as texts: Arrow would find a type over all folders.

    One folder more could then change how the others are read.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    keys = (ds.get_partition_keys(file.partition_expression) for file in found.get_fragments())
    names = dict.fromkeys(name for of_file in keys for name in of_file)
    return ds.partitioning(pa.schema([(name, pa.string()) for name in names]), flavor="hive")


def _columns_of(file: Any) -> Any:
    """The columns that a file has, and their types; SchemaError for what is no such file."""
    import pyarrow as pa

    try:
        return file.format.inspect(file.path, file.filesystem)
    except (OSError, pa.ArrowException) as error:
        raise SchemaError(
            f"{file.path} cannot be read ({type(error).__name__}): expected a whole file; put "
            "other files elsewhere, or give them names that begin with a dot or an underscore"
        ) from None


def _has_types(dataset: Any) -> bool:
    """Whether files carry their types, which `require` compares: cells of CSV may not fit."""
    import pyarrow.dataset as ds

    typed = [ds.ParquetFileFormat, ds.IpcFileFormat, getattr(ds, "OrcFileFormat", None)]
    return isinstance(getattr(dataset, "format", None), tuple(filter(None, typed)))


def _value_type(kind: Any) -> Any:
    """The type of the values, whether or not they are numbered in a dictionary."""
    import pyarrow.types as kinds

    return kind.value_type if kinds.is_dictionary(kind) else kind


def _plain(table: Any) -> Any:
    """The table without dictionaries: each file and batch has its own."""
    for i, field in enumerate(table.schema):
        if field.type != _value_type(field.type):
            plain = table.column(i).cast(_value_type(field.type))
            table = table.set_column(i, field.name, plain)
    return table


def source_of(dataset: Any) -> Source:
    """The source that a data set of pyarrow is."""
    return ArrowSource(dataset)
