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

    /// Runs a step that checks an option beside others, and records why they can't be combined. Skips it if one of them
    /// has a mistake already.
    ///
    /// - Returns: The result, or nil if there is none.
    @discardableResult
    mutating func check<R>(
        _ option: String, beside others: [String] = [], _ step: () throws(ConfigurationError) -> R
    ) -> R? {
        guard !concern(option), !others.contains(where: concern) else { return nil }
        do throws(ConfigurationError) {
            return try step()
        } catch {
            errors.append(error.found(in: sources[option]))
            return nil
        }
    }

    /// Records why an option can't be combined with others, unless one of them has a mistake already.
    mutating func refuse(_ option: String, beside others: [String] = [], if isRefused: Bool, _ message: String) {
        check(option, beside: others) { () throws(ConfigurationError) in
            if isRefused { throw ConfigurationError(message) }
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
