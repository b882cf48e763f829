import BSON
import JSON

/// One object as a source holds it.
enum SourceRecord: Sendable {
    /// As parse-server keeps it in MongoDB.
    case mongo(BSONDocument)
    /// As the REST interface writes it.
    case rest(JSONObject)
    /// Bytes between which objects stand that can be read.
    case unreadable(reason: String)
}

/// Reads the objects of one class, in the order of the source.
protocol RecordReader: AnyObject {
    /// How many bytes of the file have been read.
    var bytesRead: Int64 { get }

    /// The next object; nil behind the last; throws ``SourceDamage`` when nothing more can be read.
    func next() throws -> SourceRecord?

    /// Steps over objects.
    func skip(_ count: Int) throws
}

extension RecordReader {
    func skip(_ count: Int) throws {
        for _ in 0..<count where try next() == nil { return }
    }
}
