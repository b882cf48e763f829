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
            var meter = Meter(progress, reader.bytesRead)
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
                RejectLine.text(
                    plan.name, id: id, field: nil,
                    reason: "another object has the same unique value: the object is skipped")
            }
        }
        return record
    }

    /// Reads all objects and reports how they would be imported.
    ///
    /// - Parameter report: Receives each line for the rejects file.
    func inspect(_ report: (String) throws -> Void) throws -> ImportReport.Class {
        let reader = try collection.open()
        var meter = Meter(progress, 0)
        let mapper = RowMapper(plan: plan)
        var figures = ImportReport.Class(name: plan.name.text, documents: 0, rows: 0, rejects: 0)
        while let record = try reader.next() {
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
            try meter.count(reader.bytesRead)
        }
        try meter.flush(reader.bytesRead)
        return figures
    }

    private func fill(_ batch: inout ImportStorage.Batch, _ reader: any RecordReader, _ meter: inout Meter) throws
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
            let lines = ids.map {
                RejectLine.text(
                    plan.name, id: $0, field: nil, reason: "duplicate id: the object is skipped")
            }
            if isStrict, let line = lines.first { throw InexactObject(line: line) }
            record = try storage.report(lines, of: record, removedRows: ids.count)
            refused = try storage.makeIndexes(record)
        }
        let lines = refused.map {
            RejectLine.text(
                plan.name, id: nil, field: nil, reason: "the index \($0.name) can't be created: \($0.reason)")
        }
        if isStrict, let line = lines.first { throw InexactObject(line: line) }
        return try storage.report(lines, of: record)
    }

    private struct Meter {
        private let progress: ImportProgress
        private var reported: Int64
        private var documents: Int64 = 0

        init(_ progress: ImportProgress, _ bytes: Int64) {
            self.progress = progress
            reported = bytes
            progress.add(bytes: bytes, documents: 0)
        }

        mutating func count(_ bytes: Int64) throws {
            documents += 1
            if documents >= 1000 { try flush(bytes) }
        }

        mutating func flush(_ bytes: Int64) throws {
            progress.add(bytes: bytes - reported, documents: documents)
            reported = bytes
            documents = 0
            try progress.check()
        }
    }
}
