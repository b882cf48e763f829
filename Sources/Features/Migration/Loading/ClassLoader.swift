import JSON
import ParseStorage
import Postgres

/// Imports a class or relation: reads its objects, converts them to rows and publishes the rows in the class.
///
/// Blocks on disks and on the database, so it needs a separate thread.
struct ClassLoader {
    let collection: SourceCatalog.Collection
    let plan: RowPlan
    let isStrict: Bool
    let progress: ImportProgress

    /// The maximum number of objects loaded at a time. After an interruption, loaded objects aren't loaded again.
    private static let chunk: Int64 = 5000
    private static let maxRejects = 1000
    private static let legacySessions =
        "the session tokens in _User are skipped: users whose session is not in _Session must log in again"

    /// Loads the class, continuing an interrupted run, and returns the updated record.
    func run(_ start: ImportRecord, _ storage: ImportStorage) throws -> ImportRecord {
        var record = start
        if record.state == .loading {
            let reader = try collection.open()
            try reader.skip(Int(record.documents))
            var meter = ImportMeter(progress, reader.bytesRead, countsObjects: true)
            while record.state == .loading {
                try progress.check()
                record = try storage.load(record, plan.table) { batch in
                    try fill(&batch, reader, &meter)
                }
            }
        }
        if record.state == .loaded {
            record = try index(record, storage)
            try progress.check()
            record = try storage.publish(record, plan.table) { id in
                let loss = Loss(reason: "another object has the same unique value: the object is skipped")
                let line = RejectLine.text(plan.name, id: id, loss)
                if isStrict { throw InexactObject(line: line) }
                return line
            }
        }
        return record
    }

    /// Reads all objects and reports how they would be imported.
    ///
    /// - Parameter report: Receives each line for the rejects file.
    func inspect(_ report: (String) throws -> Void) throws -> ImportReport.Class {
        let mapper = RowMapper(plan: plan)
        var figures = ImportReport.Class(name: plan.name.text, documents: 0, rows: 0, rejects: 0)
        try collection.read(progress, countsObjects: true) { record in
            let mapped = mapper.map(record)
            figures.documents += 1
            if case .row = mapped { figures.rows += 1 }
            if mapped.losses.hasLegacySession { progress.addNote(Self.legacySessions) }
            for loss in mapped.losses.list {
                let line = RejectLine.text(plan.name, id: mapped.id, loss)
                if isStrict { throw InexactObject(line: line) }
                try report(line)
                figures.rejects += 1
            }
        }
        return figures
    }

    private func fill(_ batch: inout ImportStorage.Batch, _ reader: any RecordReader, _ meter: inout ImportMeter) throws
        -> Bool
    {
        let mapper = RowMapper(plan: plan)
        while batch.documents < Self.chunk, batch.rejects.count < Self.maxRejects {
            guard let record = try reader.next() else {
                try meter.flush(reader.bytesRead)
                return true
            }
            batch.documents += 1
            let mapped = mapper.map(record)
            if mapped.losses.hasLegacySession { progress.addNote(Self.legacySessions) }
            for loss in mapped.losses.list { batch.rejects.append(RejectLine.text(plan.name, id: mapped.id, loss)) }
            if isStrict, let line = batch.rejects.first { throw InexactObject(line: line) }
            if case .row(_, let values, _) = mapped { try batch.append(values) }
            try meter.count(reader.bytesRead)
        }
        return false
    }

    /// Creates the indexes. If objects have the same id, keeps the first.
    private func index(_ record: ImportRecord, _ storage: ImportStorage) throws -> ImportRecord {
        var record = record
        var refused: [(name: String, reason: String)]
        do {
            refused = try storage.makeIndexes(record)
        } catch let error as PostgresError where error.sqlState == "23505" {
            let ids = try storage.removeDuplicates(record, plan.table)
            let loss = Loss(reason: "duplicate id: the object is skipped")
            let lines = ids.map { RejectLine.text(plan.name, id: $0, loss) }
            if isStrict, let line = lines.first { throw InexactObject(line: line) }
            record = try storage.report(lines, of: record, removedRows: ids.count)
            refused = try storage.makeIndexes(record)
        }
        let lines = refused.map {
            RejectLine.text(plan.name, id: nil, Loss(reason: "the index \($0.name) can't be created: \($0.reason)"))
        }
        if isStrict, let line = lines.first { throw InexactObject(line: line) }
        return try storage.report(lines, of: record)
    }
}

/// Adds to the progress after every 1000 objects.
struct ImportMeter {
    private let progress: ImportProgress
    private let countsObjects: Bool
    private var reported: Int64
    private var objects: Int64 = 0

    /// - Parameter bytes: The number of bytes that were read before.
    init(_ progress: ImportProgress, _ bytes: Int64, countsObjects: Bool) {
        self.progress = progress
        self.countsObjects = countsObjects
        reported = bytes
        progress.add(bytes: bytes, documents: 0)
    }

    mutating func count(_ bytes: Int64) throws {
        objects += 1
        if objects >= 1000 { try flush(bytes) }
    }

    mutating func flush(_ bytes: Int64) throws {
        progress.add(bytes: bytes - reported, documents: countsObjects ? objects : 0)
        reported = bytes
        objects = 0
        try progress.check()
    }
}

extension SourceCatalog.Collection {
    /// Reads all objects and shows the progress, by default in bytes only.
    func read(
        _ progress: ImportProgress, countsObjects: Bool = false, _ use: (SourceRecord) throws -> Void
    ) throws {
        let reader = try open()
        var meter = ImportMeter(progress, 0, countsObjects: countsObjects)
        while let record = try reader.next() {
            try use(record)
            try meter.count(reader.bytesRead)
        }
        try meter.flush(reader.bytesRead)
    }
}
