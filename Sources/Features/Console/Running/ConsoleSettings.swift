import HTTP
import JSON
internal import Operations
internal import ServerConfiguration

/// Routes that list the settings with their sources, and change those that can be set at run time.
extension ConsoleRouteTable {
    static let settings: [ConsoleRoute] = [
        ConsoleRoute(.get, "settings", .developer) { SettingCalls(call: $0).list },
        ConsoleRoute(.get, "settings/:name", .developer) { try SettingCalls(call: $0).read() },
        ConsoleRoute(.put, "settings/:name", .developer) { try await SettingCalls(call: $0).change() },
        ConsoleRoute(.delete, "settings/:name", .developer) { try await SettingCalls(call: $0).change(to: nil) },
        ConsoleRoute(.post, "settings/:name/preview", .developer, .nothing) {
            try await SettingCalls(call: $0).preview()
        },
    ]
}

private struct SettingCalls: ConsoleCalls {
    let call: ConsoleCall

    private var options: RuntimeOptions { interface.backend.options }

    var list: Reply {
        let file: JSONValue? = interface.configuration.fileName.map { .string($0) }
        return .object(["settings": .array(all.map { .object($0) }), "file": file ?? .null])
    }

    private var all: [JSONObject] {
        interface.configuration.settings.flatMap { setting in
            let object = Self.json(setting)
            switch setting.name {
            case "rateLimit": return [changeable(.rateLimit, object)]
            case "emailAdapter" where interface.configuration.accountMail.delivery != nil:
                return [object] + [.verificationEmail, .passwordResetEmail].map { changeable($0, object) }
            default: return [object]
            }
        }
    }

    private static func json(_ setting: Setting) -> JSONObject {
        var object: JSONObject = [
            "name": .string(setting.name), "group": .string(setting.group),
            "source": .string(setting.source.rawValue), "meaning": .string(setting.meaning),
            "isBuilt": .bool(setting.isBuilt),
        ]
        object["value"] = setting.value
        object["default"] = setting.defaultWords.map { .string($0) }
        object["example"] = setting.example
        object["lines"] = .object(setting.lines)
        if setting.isSecret { object["isSecret"] = true }
        if !setting.from.isEmpty { object["from"] = .array(setting.from.map { .string($0) }) }
        return object
    }

    /// Returns an option that can change while the server runs: the value in force, the configured one (`file`), and
    /// the source, which may be an operator.
    ///
    /// - Parameter container: The configured option, or the one that contains it.
    private func changeable(_ option: RuntimeOption, _ container: JSONObject) -> JSONObject {
        let stored = options.stored(option)
        var object = container
        object["file"] = container["value"]
        if option == .rateLimit {
            object["value"] = stored?.value ?? container["value"]
            object["meaning"] = .string(
                "Limits on the number of requests in a time window. Requests from this machine count only with "
                    + "includeInternalRequests, requests with the master key only with includeMasterKey.")
        } else {
            object["name"] = .string(option.rawValue)
            object["meaning"] =
                option == .verificationEmail
                ? "Email that confirms an address" : "Email that resets a password"
            if interface.configuration.mailTemplate(option) == nil { object["source"] = "default" }
            (object["isSecret"], object["example"], object["lines"]) = (nil, nil, nil)
            object["file"] = (try? options.check(option, nil))?["value"]
            if let draft = try? options.check(option, stored?.value) { object.merge(draft) { $1 } }
        }
        object["isChangeable"] = true
        guard let stored else { return object }
        object.merge(["source": "stored", "from": [.string(stored.who)], "at": .string(stored.at.iso)]) { $1 }
        return object
    }

    func read() throws -> Reply {
        let option = try option
        guard let object = all.first(where: { $0["name"]?.stringValue == option.rawValue }) else { throw notChangeable }
        return .object(object)
    }

    private var option: RuntimeOption {
        get throws {
            guard let option = RuntimeOption(rawValue: arguments[0]) else { throw notChangeable }
            return option
        }
    }

    private var notChangeable: HTTPError {
        HTTPError(status: 404, message: "\(arguments[0]) can't be changed here. Change it in the configuration file.")
    }

    func change() async throws -> Reply {
        guard let value = try await body()["value"] else {
            throw HTTPError(status: 400, message: "value is required.")
        }
        return try await change(to: value)
    }

    /// Stores a value after the checks of the configuration file, or restores the configured value if `value` is nil.
    func change(to value: JSONValue?) async throws -> Reply {
        let option = try option
        let before = options.stored(option)?.value
        return try await call.audited(
            "settings/\(option.rawValue)", fields: [option.rawValue], before: before, after: value
        ) {
            _ = try checked(option, value)
            try await options.set(option, value, by: session.name)
            return try read()
        }
    }

    /// Checks a value without storing it. For an email option, returns the email with sample values.
    func preview() async throws -> Reply {
        let (option, body) = (try option, try await body())
        return .object(try checked(option, body["value"], language: body["language"]?.stringValue ?? "en"))
    }

    private func checked(_ option: RuntimeOption, _ value: JSONValue?, language: String = "en") throws -> JSONObject {
        do throws(ConfigurationError) {
            return try options.check(option, value, language: language)
        } catch {
            throw HTTPError(status: 400, message: error.message)
        }
    }
}
