import Encoding
import JSON
import NodeHost
import Platform
import ServerConfiguration

extension Server {
    /// Creates the server of `roost serve` from a configuration file or an app's own index.js.
    ///
    /// With `--check`, prints how Roost treats each option of an index.js. With `--write FILE`, writes the options to a
    /// configuration file.
    ///
    /// - Returns: The server, or nil after `--check` and `--write`.
    /// - Throws: `ConfigurationError`, and the errors of running the index.js and of writing the file.
    package static func make(arguments: [String], environment: [String: String]) async throws -> Server? {
        var arguments = arguments
        guard let app = try await ServedApp.extract(from: &arguments, environment: environment) else {
            return try Server(arguments: arguments, environment: environment)
        }
        let target = ServedApp.value(of: "--write", in: &arguments, isRemoved: true)
        let count = arguments.count
        arguments.removeAll { $0 == "--check" }
        let isReport = target != nil || arguments.count < count
        let result = Result { try Deployment(arguments: arguments, environment: environment, app: app) }
        var (mistakes, isUsage) = ([String](), false)
        if case .failure(let error) = result {
            guard let error = error as? ConfigurationError else { throw error }
            isUsage = error.isUsage
            mistakes = ErrorText.of(error).split(separator: "\n").map(String.init)
        }
        guard isReport else {
            let undecided = app.undecided.map(\.text) + mistakes
            guard undecided.isEmpty else {
                throw ConfigurationError(undecided.joined(separator: "\n"), isUsage: isUsage)
            }
            return try Server(arguments: arguments, environment: environment, app: app)
        }
        let report = AppReport(app: app, deployment: try? result.get(), mistakes: mistakes)
        try OpenFile.standardOutput.write((report.lines.joined(separator: "\n") + "\n").utf8)
        if let target, mistakes.isEmpty { try report.write(to: target) }
        guard app.undecided.isEmpty, mistakes.isEmpty else {
            throw ConfigurationError(
                "\(app.file.name): change the items marked \"decide\" so that Roost can serve it", isUsage: isUsage)
        }
        return nil
    }
}

private struct AppReport {
    let app: ServedApp
    let deployment: Deployment?
    let mistakes: [String]

    var lines: [String] {
        let options = app.options.keys.compactMap { name -> AppNote? in
            guard !app.notes.contains(where: { $0.subject == name.text || $0.subject.hasPrefix("\(name).") }) else {
                return nil
            }
            switch OptionTable.find(name.text)?.support {
            case .built: return app.makeNote(name.text, .applied, "")
            case .ignored(let why): return app.makeNote(name.text, .left, why)
            case .notBuilt: return nil
            case nil: return hint(name.text).map { app.makeNote(name.text, .left, $0) }
            }
        }
        let others = mistakes.map { app.makeNote("options", .decide, $0) }
        return (options + app.notes + others).map(\.line)
    }

    private func hint(_ name: String) -> String? {
        let start = "option \(name) "
        return deployment?.warnings.first { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
    }

    private static func withoutMasked(_ value: JSONValue) -> JSONValue? {
        switch value {
        // `nil` alone would be JSON's null here.
        case .string(let text): text.contains(Setting.mask) ? JSONValue?.none : value
        case .array(let list): .array(list.compactMap(withoutMasked))
        case .object(let object): .object(object.compactMapValues(withoutMasked))
        default: value
        }
    }

    /// Writes the options except secrets, which belong in environment variables.
    ///
    /// - Throws: `ConfigurationError` if the file exists, and errors of writing it.
    func write(to path: String) throws {
        guard let configuration = deployment?.configuration else { return }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw ConfigurationError("\(path) already exists. Choose another file name")
        }
        var options: JSONObject = [:]
        var secrets: [String] = []
        for setting in configuration.settings where setting.source == .file {
            if case .ignored? = OptionTable.find(setting.name)?.support { continue }
            if app.functions.contains(where: { $0 != .masterKey && $0.rawValue == setting.name }) { continue }
            guard let value = setting.value else {
                if setting.isSecret, let option = OptionTable.find(setting.name) { secrets.append(option.environment) }
                continue
            }
            if value["module"]?.stringValue == Configuration.MailDelivery.ofApp { continue }
            options[Name(setting.name)] = Self.withoutMasked(value)
        }
        options["cloud"] = app.cloudFile.map { .string($0) }
        try Data(JSONValue.object(options).serialized()).write(to: URL(fileURLWithPath: path))
        let names = secrets.sorted().joined(separator: ", ")
        let variables = names.isEmpty ? "" : ". Set the environment variables \(names)"
        let line = "\(path) was written without secrets and routes\(variables)\n"
        try OpenFile.standardOutput.write(line.utf8)
    }
}
