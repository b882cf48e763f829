import ParseModel
import Postgres

/// Maps PostgreSQL errors to Parse errors.
package enum DatabaseFailure {
    /// Whether the error may come from an outdated schema: an unknown table, column or function, or a wrong type.
    package static func isStaleSchema(_ error: PostgresError) -> Bool {
        ["42703", "42P01", "42804", "42883"].contains(error.sqlState)
    }

    /// Whether a read on a replica failed because the server is unreachable, doesn't accept queries, or cancelled the
    /// read in favor of replication.
    static func isOutOfReach(_ error: PostgresError) -> Bool {
        switch error.kind {
        case .unavailable, .connectionLost: true
        case .server: error.sqlState.hasPrefix("57P") || error.sqlState == "40001"
        case .busy, .cancelled, .shutdown, .tooLarge: false
        }
    }

    package static func parseError(_ error: PostgresError) -> ParseError {
        switch error.sqlState {
        case "23505": duplicate(error.constraint ?? "")
        case "RS111":
            // Raised by Roost's own SQL functions.
            ParseError(ParseError.incorrectType, error.message)
        case "RS102": ParseError(ParseError.invalidQuery, error.message)
        case "RS116": ObjectSize.tooLarge(Int(error.message) ?? 0)
        case "57014", "25P03": ParseError(ParseError.timeout, "The query took too long and was stopped")
        case "40001", "40P01", "55P03":
            ParseError(
                ParseError.timeout, "The rows are locked by another request. Nothing was changed. Try again later")
        case "2201B": ParseError(ParseError.invalidQuery, "Invalid regular expression")
        case "22001": ParseError(ParseError.incorrectType, "A string is too long for its field")
        case "22021", "22P05":
            ParseError(ParseError.invalidJSON, "Strings can't contain the NUL character")
        case "22003": ParseError(ParseError.incorrectType, "A number is out of range")
        case "22007", "22008", "22009", "22015":
            ParseError(ParseError.incorrectType, "A date is invalid or out of range")
        case let state where state.hasPrefix("22"):
            ParseError(ParseError.incorrectType, "A value has the wrong type for this operation")
        case let state where state.hasPrefix("23"):
            ParseError(ParseError.incorrectType, "A value is not allowed for its field")
        case let state where state.hasPrefix("54"):
            ParseError(ParseError.invalidQuery, "The request is too large for the database")
        case "42601", "42602", "42622", "42701", "42939":
            ParseError(ParseError.invalidKeyName, "A name is invalid or already exists")
        case "42P10", "42803", "42804", "42846", "42883", "42P18":
            ParseError(ParseError.incorrectType, "A value has the wrong type for this operation")
        default: ParseError(ParseError.internalServerError, "An internal server error occurred")
        }
    }

    /// Returns the error for a violated unique index, by the name of the index. On Citus the name ends with a shard
    /// number.
    private static func duplicate(_ constraint: String) -> ParseError {
        func isIndex(_ name: String) -> Bool {
            constraint.hasPrefix(name) && constraint.utf8.dropFirst(name.utf8.count).allSatisfy(shardNumber.contains)
        }
        if isIndex("_User_unique_username") {
            return ParseError(ParseError.usernameTaken, "Account already exists for this username.")
        }
        if isIndex("_User_unique_email") {
            return ParseError(ParseError.emailTaken, "Account already exists for this email address.")
        }
        if constraint.hasPrefix("_User_unique_authData_") {
            return ParseError(ParseError.accountAlreadyLinked, "this auth is already used")
        }
        return ParseError(
            ParseError.duplicateValue, "A duplicate value for a field with unique values was provided")
    }

    private static let shardNumber = Set("_0123456789".utf8)
}
