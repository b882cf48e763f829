import Postgres

extension ImportStorage {
    /// Rows being sent to a table, and reports of values that can't be imported exactly.
    public struct Batch {
        /// The number of source objects processed, including those without a row.
        public var documents: Int64 = 0
        /// The number of rows appended.
        public var rows: Int64 = 0
        /// The reports of values that can't be imported exactly, each a JSON object.
        public var rejects: [String] = []
        private let send: (CopyBuffer) throws -> Void
        private var buffer = CopyBuffer()

        private static let pieceSize = 256 * 1024

        init(_ send: @escaping (CopyBuffer) throws -> Void) {
            self.send = send
            buffer.begin()
        }

        /// Adds a row: a value for each column of the table.
        public mutating func append(_ values: [PostgresParameter]) throws {
            buffer.append(values)
            rows += 1
            if buffer.count >= Self.pieceSize { try flush() }
        }

        private mutating func flush() throws {
            try send(buffer)
            buffer.removeAll()
        }

        mutating func end() throws {
            buffer.end()
            try flush()
        }
    }

    /// Loads the rows that `fill` appends into the staging table and records the progress, in one transaction.
    ///
    /// - Parameter fill: Appends rows. Returns true if the source has no more.
    /// - Returns: The updated record.
    /// - Throws: `PostgresError`, or an error of `fill`.
    public func load(
        _ record: ImportRecord, _ table: ImportTable, _ fill: (inout Batch) throws -> Bool
    ) throws -> ImportRecord {
        var record = record
        try connection.transaction {
            var documents: Int64 = 0
            var rows: Int64 = 0
            var rejects: [String] = []
            var isLast = false
            try connection.copy(
                "COPY \(SQL.identifier(record.staging)) (\(table.columnList)) FROM STDIN (FORMAT binary)"
            ) { send in
                // The batch keeps `send`, but isn't used after the COPY.
                try withoutActuallyEscaping(send) { send in
                    var batch = Batch(send)
                    isLast = try fill(&batch)
                    try batch.end()
                    (documents, rows, rejects) = (batch.documents, batch.rows, batch.rejects)
                }
            }
            try addRejects(rejects, to: record.number)
            record.documents += documents
            record.rows += rows
            record.rejects += Int64(rejects.count)
            if isLast { record.state = .loaded }
            try store(record)
        }
        return record
    }

    func addRejects(_ lines: [String], to number: Int64) throws {
        guard !lines.isEmpty else { return }
        try connection.query(
            "INSERT INTO \"roost-import-rejects\" (\"number\", \"line\") SELECT $1, unnest($2)",
            [.int(number), .textArray(lines)])
    }

    func store(_ record: ImportRecord) throws {
        try connection.query(
            """
            UPDATE "roost-import" SET "state" = $2, "documents" = $3, "rows" = $4, "rejects" = $5 WHERE "number" = $1
            """,
            [
                .int(record.number), .text(record.state.rawValue), .int(record.documents), .int(record.rows),
                .int(record.rejects),
            ])
    }
}
