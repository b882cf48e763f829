import CloudCode
import JSON
import Logging
public import OrderedCollections

/// Calls of cloud code in tests, without a server: checks, time limit and errors are those of the server, and there are
/// no data.
///
/// ```swift
/// let greeting = try await app.cloud.test.call("hello", ["name": "Kim"], as: .user(kim))
/// ```
public struct CloudTest: Sendable {
    /// Who calls.
    public enum Caller: Sendable {
        /// An anonymous client.
        case anonymous
        /// The master key.
        case master
        /// A user, with roles by their names.
        case user(ParseObject, roles: [String] = [])

        fileprivate var caller: CloudCaller {
            var caller = CloudCaller()
            switch self {
            case .anonymous: break
            case .master: caller.isMaster = true
            case .user(let user, let roles):
                caller.user = user.json
                caller.roles = roles.map { Name("role:\($0)") }
            }
            return caller
        }
    }

    let cloud: Cloud

    /// Calls a function.
    ///
    /// - Returns: What it gives; nil for nothing.
    /// - Throws: `ParseError`, as clients get it.
    public func call(_ function: String, _ params: JSONObject = [:], as caller: Caller = .anonymous) async throws
        -> JSONValue?
    {
        var call = CloudCall(.function(Name(function)), caller: caller.caller)
        call.params = params
        guard let result = try await engine().call(call) else {
            throw ParseError(ParseError.scriptFailed, "Invalid function: \"\(function)\"")
        }
        return result.value
    }

    /// Calls what is registered before an object of a class is saved.
    ///
    /// - Parameter original: The object as it is stored; nil for a new one.
    /// - Returns: The object as it would be saved.
    /// - Throws: `ParseError`, as clients get it.
    public func beforeSave(_ object: ParseObject, original: ParseObject? = nil, as caller: Caller = .anonymous)
        async throws -> ParseObject
    {
        var call = CloudCall(.trigger(.beforeSave, Name(object.className)), caller: caller.caller)
        call.object = object.json
        call.original = original?.json
        call.changes = object.operations
        let result = try await engine().call(call)
        var saved = object
        guard case .operations(let operations, let reverted)? = result?.write else { return saved }
        for name in reverted { saved.operations[name] = nil }
        for (name, operation) in operations { saved.operations[name] = operation }
        return saved
    }

    private func engine() async throws -> CloudEngine {
        let logger = Logger(label: "roost.test")
        let engine = CloudEngine(logger: logger)
        engine.attach(SwiftHost(cloud, logger: logger))
        try await engine.start()
        return engine
    }
}

extension Cloud {
    /// Calls of this cloud code in tests.
    public var test: CloudTest { CloudTest(cloud: self) }
}
