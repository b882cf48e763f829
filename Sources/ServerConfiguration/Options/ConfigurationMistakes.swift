/// The mistakes of a configuration, collected so that an operator sees all of them at once.
struct ConfigurationMistakes {
    /// The source of each option: a file, a variable or a flag.
    var sources: [String: String] = [:]
    private var errors: [ConfigurationError] = []
    private var options: Set<String> = []

    /// Runs a step that reads an option, and records a mistake in it.
    ///
    /// - Returns: The result, or nil after a mistake.
    mutating func collect<R>(_ option: String, _ step: () throws(ConfigurationError) -> R) -> R? {
        do throws(ConfigurationError) {
            return try step()
        } catch {
            add(error, option)
            return nil
        }
    }

    mutating func add(_ error: ConfigurationError, _ option: String) {
        options.insert(option)
        errors.append(error.found(in: sources[option]))
    }

    func concern(_ option: String) -> Bool { options.contains(option) }

    /// - Throws: `ConfigurationError` with all mistakes, if there are any.
    func check() throws(ConfigurationError) {
        guard !errors.isEmpty else { return }
        throw ConfigurationError(errors)
    }
}
