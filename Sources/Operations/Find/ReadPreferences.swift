import Encoding
import JSON
import ParseModel
import ParseStorage

/// `readPreference` and its like: which reads are run on the replica.
extension Finding {
    /// Chooses where a find and what it includes are run.
    ///
    /// - Throws: 102 for a preference that does not exist.
    func choosePlace(_ options: FindOptions, _ request: inout ObjectStore.FindRequest) throws(ParseError) {
        guard !configuration.replicas.isEmpty else { return }
        request.place = try place(options.readPreference)
        request.placeOfIncluded =
            options.includeReadPreference == nil ? request.place : try place(options.includeReadPreference)
    }

    /// Where a preference wants a read to be run. Without a replica none has an effect.
    ///
    /// - Throws: 102 for one that does not exist.
    func place(_ preference: JSONValue?) throws(ParseError) -> ReadPlace {
        guard !configuration.replicas.isEmpty, let preference, !preference.isNull else { return .primary }
        switch preference.stringValue?.asciiUppercased {
        case "", "PRIMARY", "PRIMARY_PREFERRED": return .primary
        case "SECONDARY": return .replica
        case "SECONDARY_PREFERRED", "NEAREST": return .replicaIfReachable
        default: throw ParseError(ParseError.invalidQuery, "Not supported read preference.")
        }
    }
}
