import CloudCode
import JSON
import Logging
public import OrderedCollections

/// Calls cloud code in tests without a server. Validators, the time limit and errors work as in the server. Rate limits
/// don't apply, and requests to the database fail.
///
/// ```swift
/// let greeting = try await app.cloud.test.call("hello", ["name": "Kim"], as: .user(kim))
/// ```
public struct CloudTest: Sendable {
    /// The caller of a tested function or trigger.
    public enum Caller: Sendable {
        /// A client that isn't logged in.
        case anonymous
        /// A caller with the master key.
        case master
        /// A user, with the names of their roles (without the prefix `role:`).
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
    /// - Returns: The function's result, or nil if it returns nothing.
    /// - Throws: The `ParseError` that a client would get.
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

    /// Runs the `beforeSave` trigger of the object's class.
    ///
    /// - Parameters:
    ///   - object: The object to save, with the client's changes.
    ///   - original: The stored object, or nil if `object` is new.
    ///   - caller: The client that saves the object.
    /// - Returns: The object as it would be saved.
    /// - Throws: The `ParseError` that a client would get.
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
    /// The interface that calls the registered functions and triggers in tests, without a server.
    public var test: CloudTest { CloudTest(cloud: self) }
}
