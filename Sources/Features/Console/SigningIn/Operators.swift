import JSON
internal import Operations
internal import ParseModel

/// Console operators and their passwords.
package struct Operators: Sendable {
    let backend: Backend

    /// The minimum password length in characters.
    static let shortestPassword = 8

    /// The maximum length of an operator's name in bytes.
    static let longestName = 100

    /// Audit-log labels for sign-ins without an account. Operators can't have these names.
    private static let otherWays: Set<Name> = ["master key", "read-only master key", "owner (link)", "this machine"]
    /// The audit-log prefix for administrators signed in with a key of the option `adminKeys`.
    static let keyPrefix = "key of "

    /// Returns the operator with this name and password, or nil if either is wrong. Takes equally long for unknown
    /// names.
    ///
    /// - Throws: `ServiceUnavailable` if too many password hashes are queued, or the error of the database.
    func verify(name: String, password: String, from address: String) async throws -> StoredOperator? {
        let known = try await backend.store.operators.find(name: name)
        let isRight = try await backend.passwords.verify(
            password, hash: known.flatMap { BcryptHash($0.hash) }, from: address)
        return isRight ? known : nil
    }

    /// Creates an operator and returns its id.
    ///
    /// - Throws: `ParseError` if the name or the password is invalid, or the name is taken or reserved.
    package func add(name: String, password: String, role: String, from address: String) async throws -> String {
        guard (1...Self.longestName).contains(name.utf8.count), !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else {
            throw ParseError(ParseError.usernameMissing, "Names must have 1 to 100 bytes and no control characters.")
        }
        guard !Self.otherWays.contains(Name(name)), !name.utf8.starts(with: Self.keyPrefix.utf8) else {
            throw ParseError(ParseError.usernameTaken, "\(name) is reserved by the audit log. Choose another name.")
        }
        let hash = try await hash(password, from: address)
        let id = Identifiers.alphanumeric(10)
        guard try await backend.store.operators.add(id: id, name: name, hash: hash, role: role) else {
            throw ParseError(ParseError.usernameTaken, "An operator named \(name) already exists.")
        }
        return id
    }

    /// Changes an operator's password or role, or turns off the second factor (`dropsFactor`). Ends the operator's
    /// sessions.
    ///
    /// - Throws: `ParseError` if the password is invalid or the operator doesn't exist.
    func change(
        id: String, password: String?, role: String?, dropsFactor: Bool = false, from address: String
    ) async throws {
        var changed: String?
        if let password { changed = try await hash(password, from: address) }
        guard try await backend.store.operators.change(id: id, hash: changed, role: role, dropsFactor: dropsFactor)
        else {
            throw ParseError(ParseError.objectNotFound, "The operator doesn't exist.")
        }
    }

    private func hash(_ password: String, from address: String) async throws -> String {
        guard password.count >= Self.shortestPassword, !password.utf8.contains(0) else {
            throw ParseError(
                ParseError.passwordMissing,
                "The operator's password must have at least \(Self.shortestPassword) characters and no null character.")
        }
        return try await backend.passwords.hash(password, from: address)
    }
}
