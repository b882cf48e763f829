import BSON
import JSON

/// One object of a source.
enum SourceRecord: Sendable {
    /// An object in the format that parse-server stores in MongoDB.
    case mongo(BSONDocument)
    /// An object in the format of the REST interface.
    case rest(JSONObject)
    /// An unreadable object. Reading can continue after it.
    case unreadable(reason: String)
}

/// Reads the objects of a class or relation, in the order of the source.
protocol RecordReader: AnyObject {
    /// The number of bytes read from the file.
    var bytesRead: Int64 { get }

    /// Returns the next object, or nil after the last. Throws ``SourceDamage`` if reading can't continue.
    func next() throws -> SourceRecord?

    /// Skips objects, or all that are left if there are fewer.
    func skip(_ count: Int) throws
}
