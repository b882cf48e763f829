extension PostgresError {
    /// Why a connection could not be made, from libpq's words.
    ///
    /// libpq gives no fields of the error here, but asked for verbose messages it writes
    /// `FATAL:  3D000: database "x" does not exist`, followed by a line that says where in the server's source.
    static func unavailable(_ verbose: String) -> PostgresError {
        var message = ""
        var state = ""
        for line in verbose.split(separator: "\n") where !line.hasPrefix("LOCATION:") {
            var line = line
            if let found = stateRange(in: line) {
                state = String(line[found])
                // The code goes, with the colon and the space after it.
                line = line[..<found.lowerBound] + line[found.upperBound...].dropFirst(2)
            }
            message += (message.isEmpty ? "" : "\n") + line
        }
        return PostgresError(
            .unavailable, message.isEmpty ? "no connection to PostgreSQL" : message, sqlState: state)
    }

    /// Where a line holds `:  XXXXX: `, the code of an error: two spaces before it, as after no other colon.
    private static func stateRange(in line: Substring) -> Range<Substring.Index>? {
        guard let match = line.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) else { return nil }
        return match.output.1.startIndex..<match.output.1.endIndex
    }
}
