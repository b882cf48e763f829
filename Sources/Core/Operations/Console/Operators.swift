import JSON
import ParseModel
import ParseStorage

/// Operators of the console: their names and passwords.
public struct Operators: Sendable, BackendPart {
    let backend: Backend

    /// How many characters the password of an operator has at least.
    public static let shortestPassword = 8

    /// How many bytes the name of an operator has at most.
    static let longestName = 100

    /// Labels for sign-ins without an account.
    private static let otherWays: Set<Name> = ["master key", "read-only master key", "ticket", "this machine"]
    /// What stands before the name of an administrator who signed in by a key of the option `adminKeys`.
    public static let keyPrefix = "key of "

    /// The operator whose name and password these are; nil where one of them is wrong, which takes as long for a name that
    /// there is as for any other.
    ///
    /// - Throws: `ServiceUnavailable` when too many hashes wait to be computed.
    public func verify(name: String, password: String, from address: String) async throws -> StoredOperator? {
        let known = try await store.operators.find(name: name)
        let isRight = try await services.passwords.verify(
            password, hash: known.flatMap { BcryptHash($0.hash) }, from: address)
        return isRight ? known : nil
    }

    /// Adds an operator.
    ///
    /// - Returns: The id.
    /// - Throws: `ParseError` for a name or password that cannot be, and for a name that is taken.
    public func add(name: String, password: String, role: String, from address: String) async throws -> String {
        guard (1...Self.longestName).contains(name.utf8.count), !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else {
            throw ParseError(ParseError.usernameMissing, "The operator's name must have 1 to 100 characters.")
        }
        guard !Self.otherWays.contains(Name(name)), !name.utf8.starts(with: Self.keyPrefix.utf8) else {
            throw ParseError(ParseError.usernameTaken, "\(name) is reserved by the audit log. Choose another name.")
        }
        let hash = try await hash(password, from: address)
        let id = Identifiers.alphanumeric(10)
        guard try await store.operators.add(id: id, name: name, hash: hash, role: role) else {
            throw ParseError(ParseError.usernameTaken, "An operator named \(name) already exists.")
        }
        return id
    }

    /// Changes the password or the role of an operator, whose sessions end by that.
    ///
    /// - Parameter dropsFactor: Whether the second factor is turned off.
    /// - Throws: `ParseError` for a password that cannot be, and where there is no such operator.
    public func change(
        id: String, password: String?, role: String?, dropsFactor: Bool = false, from address: String
    ) async throws {
        var changed: String?
        if let password { changed = try await hash(password, from: address) }
        guard try await store.operators.change(id: id, hash: changed, role: role, dropsFactor: dropsFactor) else {
            throw ParseError(ParseError.objectNotFound, "The operator doesn't exist.")
        }
    }

    private func hash(_ password: String, from address: String) async throws -> String {
        guard password.count >= Self.shortestPassword, !password.utf8.contains(0) else {
            throw ParseError(
                ParseError.passwordMissing,
                "The operator's password must have at least \(Self.shortestPassword) characters.")
        }
        return try await services.passwords.hash(password, from: address)
    }
}
