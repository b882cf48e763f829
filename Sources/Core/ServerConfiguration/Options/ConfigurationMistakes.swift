/// The mistakes of a configuration, collected to report all of them at once.
struct ConfigurationMistakes {
    /// The source of each option: a file, a variable or a flag.
    var sources: [String: String] = [:]
    private var errors: [ConfigurationError] = []
    private var options: Set<String> = []
    private var isUsage = false

    /// Runs a step that reads an option, and records its error.
    ///
    /// - Returns: The result, or nil if the step failed.
    mutating func collect<R>(_ option: String, _ step: () throws(ConfigurationError) -> R) -> R? {
        do throws(ConfigurationError) {
            return try step()
        } catch {
            add(error, option)
            return nil
        }
    }

    /// Runs a step that checks an option against others, and records its error. Skips the step if one of the options
    /// already has a mistake.
    ///
    /// - Returns: The result, or nil if the step failed or was skipped.
    @discardableResult
    mutating func check<R>(
        _ option: String, beside others: [String] = [], _ step: () throws(ConfigurationError) -> R
    ) -> R? {
        guard !concern(option), !others.contains(where: concern) else { return nil }
        do throws(ConfigurationError) {
            return try step()
        } catch {
            append(error, option)
            return nil
        }
    }

    /// Records a mistake if `isRefused`, unless one of the options already has a mistake.
    mutating func refuse(_ option: String, beside others: [String] = [], if isRefused: Bool, _ message: String) {
        check(option, beside: others) { () throws(ConfigurationError) in
            if isRefused { throw ConfigurationError(message) }
        }
    }

    mutating func add(_ error: ConfigurationError, _ option: String) {
        options.insert(option)
        append(error, option)
    }

    /// An empty option means the arguments themselves.
    private mutating func append(_ error: ConfigurationError, _ option: String) {
        isUsage = isUsage || option.isEmpty || sources[option]?.hasPrefix("--") == true
        errors.append(error.found(in: sources[option]))
    }

    func concern(_ option: String) -> Bool { options.contains(option) }

    /// - Throws: `ConfigurationError` with all recorded mistakes.
    func check() throws(ConfigurationError) {
        guard !errors.isEmpty else { return }
        throw ConfigurationError(errors.map(\.message).joined(separator: "\n"), isUsage: isUsage)
    }
}
