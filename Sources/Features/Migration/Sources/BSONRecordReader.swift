import BSON

/// Reads the consecutive documents of a `.bson` file.
final class BSONRecordReader: RecordReader {
    private let reader: ByteReader

    /// MongoDB's limit for documents in bytes, including its allowance for internal documents.
    static let largestDocument = 16 * 1024 * 1024 + 16 * 1024
    /// The length in bytes above which the file must be damaged.
    private static let largestLength = 256 * 1024 * 1024

    init(_ reader: ByteReader) { self.reader = reader }

    var bytesRead: Int64 { reader.bytesRead }

    func next() throws -> SourceRecord? {
        guard let length = try nextLength() else { return nil }
        guard length <= Self.largestDocument else {
            try reader.skip(length)
            return .unreadable(reason: "a document of \(length) bytes: more than MongoDB's 16 MB")
        }
        guard try reader.require(length) else { throw reader.damage("unexpected end of file in a document") }
        let offset = reader.offset
        defer { reader.advance(length) }
        do {
            let range = reader.start..<reader.start + length
            return .mongo(try BSONReader.document(reader.buffer, in: range))
        } catch {
            // The next document can still be found by this document's length.
            return .unreadable(reason: "\(error.reason) in the document at byte \(offset)")
        }
    }

    func skip(_ count: Int) throws {
        for _ in 0..<count {
            guard let length = try nextLength() else { return }
            try reader.skip(length)
        }
    }

    private func nextLength() throws -> Int? {
        guard try reader.require(1) else { return nil }
        guard try reader.require(4), let length = BSONReader.length(reader.buffer, at: reader.start) else {
            throw reader.damage("unexpected end of file in a document")
        }
        guard length >= BSONReader.shortestDocument, length <= Self.largestLength else {
            throw reader.damage("an invalid document length")
        }
        return length
    }
}
