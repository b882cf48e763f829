import JSON

/// Makes a configuration of values whose kinds were checked.
struct OptionReader {
    let values: [String: JSONValue]

    private func string(_ name: String) -> String? { values[name]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
    private func bool(_ name: String, _ fallback: Bool) -> Bool { values[name]?.boolValue ?? fallback }

    func int(_ name: String, _ fallback: Int, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
        guard let number = values[name]?.numberValue else { return fallback }
        guard let integer = Int(exactly: number.rounded(.towardZero)), range.contains(integer) else {
            throw ConfigurationError("Key \(name) has invalid value \(JSONValue.number(number).text)")
        }
        return integer
    }

    /// A number of bytes.
    private func size(_ name: String, _ fallback: Int, atLeast least: Int = 0) throws(ConfigurationError) -> Int {
        guard let value = values[name], value != "" else { return fallback }
        guard let bytes = ByteCount.read(value), bytes >= least else {
            throw ConfigurationError("Key \(name) has invalid value \(value.stringValue ?? value.text)")
        }
        return bytes
    }

    private func list(_ name: String, _ fallback: [String]) -> [String] {
        if let text = values[name]?.stringValue { return [text] }
        return values[name]?.arrayValue?.compactMap(\.stringValue) ?? fallback
    }

    /// The line of parse-server whose defaults hold.
    func preset() throws(ConfigurationError) -> Int { try int("preset", 9, in: 4...9) }

    func configuration() throws(ConfigurationError) -> Configuration {
        var configuration = Configuration()
        let preset = try preset()
        configuration.preset = preset
        try readIdentity(&configuration)
        try readNetwork(&configuration)
        try readAccess(&configuration)
        configuration.schema = try values["schema"].map(Configuration.DeclaredSchemas.init(json:))
        try readUsers(&configuration)
        configuration.pages = try Configuration.Pages(json: values["pages"]?.objectValue ?? [:], preset: preset)
        configuration.customPages = Configuration.CustomPages(json: values["customPages"]?.objectValue ?? [:])
        configuration.cloudMain = try Configuration.CloudMain(values: values, preset: preset)
        try readFiles(&configuration)
        try readProtection(&configuration)
        try readWebhooks(&configuration)
        configuration.liveQuery = try Configuration.LiveQuery(values: values, configuration)
        configuration.push = try values["push"]?.objectValue.map(Configuration.Push.init(json:))
        configuration.schedulesPushes = bool("scheduledPush", true)
        configuration.logLevel =
            bool("silent", false) ? "silent" : bool("verbose", false) ? "verbose" : string("logLevel") ?? "info"
        guard Self.logLevels.contains(configuration.logLevel) else {
            throw ConfigurationError(
                "Key logLevel must be one of \(Self.logLevels.joined(separator: ", ")), not \(configuration.logLevel)")
        }
        configuration.jsonLogs = bool("jsonLogs", false)
        return configuration
    }

    /// The largest number of objects that JSON says exactly.
    private static let largestLimit = 1 << 53

    private static let logLevels = ["error", "warn", "info", "verbose", "debug", "silly", "silent"]

    private func readIdentity(_ configuration: inout Configuration) throws(ConfigurationError) {
        guard let appId = string("appId"), let masterKey = string("masterKey") else {
            throw ConfigurationError("ERROR: appId and masterKey are required")
        }
        configuration.appId = appId
        configuration.masterKey = masterKey
        configuration.maintenanceKey = string("maintenanceKey")
        configuration.readOnlyMasterKey = string("readOnlyMasterKey")
        if masterKey.hasSameBytes(as: configuration.readOnlyMasterKey) {
            throw ConfigurationError("masterKey and readOnlyMasterKey should be different")
        }
        if masterKey.hasSameBytes(as: configuration.maintenanceKey) {
            throw ConfigurationError("masterKey and maintenanceKey should be different")
        }
        configuration.clientKey = string("clientKey")
        configuration.javascriptKey = string("javascriptKey")
        configuration.restAPIKey = string("restAPIKey")
        configuration.dotNetKey = string("dotNetKey")
        let everywhere = ["0.0.0.0/0", "::0"]
        let local = ["127.0.0.1", "::1"]
        configuration.masterKeyIps = try addresses("masterKeyIps", configuration.preset <= 5 ? everywhere : local)
        configuration.maintenanceKeyIps = try addresses("maintenanceKeyIps", local)
        configuration.readOnlyMasterKeyIps = try addresses("readOnlyMasterKeyIps", everywhere)
    }

    /// Addresses and networks.
    private func addresses(_ name: String, _ fallback: [String]) throws(ConfigurationError) -> [String] {
        let list = list(name, fallback)
        do {
            _ = try AddressList(list)
        } catch {
            throw ConfigurationError(
                "The Parse Server option \"\(name)\" contains an invalid IP address \"\(error.entry)\".")
        }
        return list
    }

    private func databaseURI(_ name: String) throws(ConfigurationError) -> String? {
        guard let uri = string(name) else { return nil }
        guard uri.hasPrefix("postgres://") || uri.hasPrefix("postgresql://") else {
            throw ConfigurationError("\(name) must begin with postgres:// or postgresql://")
        }
        return uri
    }

    private func readNetwork(_ configuration: inout Configuration) throws(ConfigurationError) {
        configuration.dataDir = string("dataDir")
        configuration.classDefinitions = string("classDefinitions")
        configuration.statementTimeout = try int("statementTimeout", 30_000, in: 1...86_400_000)
        configuration.regexTimeout = try int("regexTimeout", 2000, in: 1...86_400_000)
        configuration.allowRegexBackReferences = bool("allowRegexBackReferences", false)
        configuration.lockTimeout = try int("lockTimeout", 5000, in: 1...86_400_000)
        configuration.transactionTimeout = try int("transactionTimeout", 10_000, in: 1...86_400_000)
        configuration.connectionTimeout = try int("connectionTimeout", 3000, in: 1...86_400_000)
        configuration.port = try int("port", 1337, in: 0...65_535)
        configuration.host = string("host") ?? "0.0.0.0"
        configuration.mountPath = string("mountPath") ?? "/parse"
        if !configuration.mountPath.hasPrefix("/") { configuration.mountPath = "/" + configuration.mountPath }
        configuration.https = try Configuration.HTTPS(json: values["https"] ?? .null)
        configuration.publicServerURL = try url("publicServerURL")
        configuration.serverURL =
            try url("serverURL")
            ?? "\(configuration.scheme)://localhost:\(configuration.port)\(configuration.mountPath)"
        configuration.databaseURI = try databaseURI("databaseURI")
        configuration.readReplicaURI = try databaseURI("readReplicaURI")
        configuration.databaseOptions = try Configuration.DatabaseOptions(
            json: values["databaseOptions"]?.objectValue ?? [:], preset: configuration.preset)
        configuration.trustProxy = try trustProxy()
        configuration.maxUploadSize = try size("maxUploadSize", configuration.maxUploadSize)
        configuration.maximumConnections = try int("maximumConnections", 10_000, in: 16...1_000_000)
        configuration.transferMemory = try size("transferMemory", configuration.transferMemory, atLeast: 1)
        configuration.allowHeaders = list("allowHeaders", [])
        configuration.allowOrigin = list("allowOrigin", ["*"])
    }

    private func url(_ name: String) throws(ConfigurationError) -> String? {
        guard var text = string(name) else { return nil }
        guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
            throw ConfigurationError("\(name) should be a valid URL starting with https:// or http://")
        }
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    private func trustProxy() throws(ConfigurationError) -> Configuration.TrustProxy {
        guard let value = values["trustProxy"] else { return .nobody }
        switch value {
        case .bool(true): return .everybody
        case .number(let hops) where hops >= 1: return .hops(Int(min(hops, 1000)))
        case .string(let text) where !text.isEmpty:
            return .addresses(text.split { $0 == "," || $0 == " " }.map(String.init))
        case .array(let list) where !list.isEmpty:
            guard OptionDefinition.Kind.texts.fits(value) else {
                throw ConfigurationError("Key trustProxy has invalid value \(value.text)")
            }
            return .addresses(list.compactMap(\.stringValue))
        case .object(let members) where !members.isEmpty:
            throw ConfigurationError("Key trustProxy has invalid value \(value.text)")
        default: return .nobody
        }
    }

    private func readAccess(_ configuration: inout Configuration) throws(ConfigurationError) {
        let preset = configuration.preset
        configuration.allowClientClassCreation = bool("allowClientClassCreation", preset <= 6)
        configuration.allowCustomObjectId = bool("allowCustomObjectId", false)
        // The tables of relations, parse-server's as well, have columns of 120 characters for ids.
        configuration.objectIdSize = try int("objectIdSize", 10, in: 1...120)
        configuration.protectedFieldsOwnerExempt = bool("protectedFieldsOwnerExempt", true)
        configuration.protectedFieldsSaveResponseExempt = bool("protectedFieldsSaveResponseExempt", true)
        try readInstallation(&configuration)
        configuration.enforcePrivateUsers = bool("enforcePrivateUsers", preset >= 6)
        configuration.enableAnonymousUsers = bool("enableAnonymousUsers", true)
        configuration.defaultLimit = try int("defaultLimit", 100, in: 1...Self.largestLimit)
        configuration.maxResponseSize = try size("maxResponseSize", configuration.maxResponseSize, atLeast: 1024)
        if values["maxLimit"] != nil { configuration.maxLimit = try int("maxLimit", 0, in: 1...Self.largestLimit) }
        configuration.allowAggregationForReadOnlyMasterKey = bool("allowAggregationForReadOnlyMasterKey", true)
        configuration.enableSanitizedErrorResponse = bool("enableSanitizedErrorResponse", preset >= 8)
        for (className, entities) in values["protectedFields"]?.objectValue ?? [:] {
            // What cannot be read would protect nothing.
            guard let entities = entities.objectValue,
                entities.values.allSatisfy({ $0.arrayValue?.allSatisfy { $0.stringValue != nil } ?? false })
            else { throw ConfigurationError("Key protectedFields.\(className) must be an object of lists of fields") }
            for (entity, fields) in entities {
                let names = fields.names
                var known = configuration.protectedFields[className, default: [:]][entity] ?? []
                for name in names where !known.contains(name) { known.append(name) }
                configuration.protectedFields[className, default: [:]][entity] = known
            }
        }
        for name in list("userSensitiveFields", []) {
            configuration.protectedFields["_User", default: [:]]["*", default: []].append(Name(name))
        }
        if let rules = values["requestKeywordDenylist"]?.arrayValue {
            for rule in rules {
                let patterns = [rule["key"], rule["value"]].compactMap { $0?.stringValue }
                guard rule.objectValue != nil, patterns.allSatisfy(Pattern.isValid) else {
                    throw ConfigurationError("Key requestKeywordDenylist has invalid value \(rule.text)")
                }
            }
            configuration.requestKeywordDenylist = KeywordRules(rules)
        }
    }

    private func readInstallation(_ configuration: inout Configuration) throws(ConfigurationError) {
        let options = values["installation"]?.objectValue ?? [:]
        configuration.installation.enforcesCaller = options["duplicateDeviceTokenActionEnforceAuth"]?.boolValue ?? false
        if let text = options["duplicateDeviceTokenAction"]?.stringValue {
            guard let action = Configuration.Installations.Action(rawValue: text) else {
                throw ConfigurationError(
                    "installation.duplicateDeviceTokenAction must be one of: 'delete', 'update'.")
            }
            configuration.installation.action = action
        }
        if let text = options["duplicateDeviceTokenMergePriority"]?.stringValue {
            guard let kept = Configuration.Installations.KeptRow(rawValue: text) else {
                throw ConfigurationError(
                    "installation.duplicateDeviceTokenMergePriority must be one of: 'deviceToken', 'installationId'.")
            }
            configuration.installation.kept = kept
        }
    }

    private func readUsers(_ configuration: inout Configuration) throws(ConfigurationError) {
        configuration.expireInactiveSessions = bool("expireInactiveSessions", true)
        if configuration.expireInactiveSessions, let length = values["sessionLength"]?.numberValue {
            guard length > 0 else { throw ConfigurationError("Session length must be a value greater than 0.") }
            configuration.sessionLength = max(1, Int(min(length, LongTime.seconds)))
        }
        configuration.extendSessionOnUse = bool("extendSessionOnUse", false)
        configuration.revokeSessionOnPasswordReset = bool("revokeSessionOnPasswordReset", true)
        configuration.auth = SignInOptions.providers(values["auth"])
        configuration.enableInsecureAuthAdapters = bool("enableInsecureAuthAdapters", configuration.preset < 9)
        configuration.outgoing = try Configuration.Outgoing(values: values)
        if values["passwordHashingThreads"] != nil {
            configuration.passwordHashingThreads = try int("passwordHashingThreads", 1, in: 1...1024)
        }
        configuration.passwordHashingQueue = try int("passwordHashingQueue", 256, in: 1...1_000_000)
        configuration.convertEmailToLowercase = bool("convertEmailToLowercase", false)
        configuration.convertUsernameToLowercase = bool("convertUsernameToLowercase", false)
        configuration.caseInsensitiveLogin = bool("caseInsensitiveLogin", false)
        configuration.cacheTTL = try int("cacheTTL", 5000, in: 0...86_400_000)
        configuration.cacheMaxSize = try int("cacheMaxSize", 10_000, in: 1...10_000_000)
        configuration.accountMail = try Configuration.AccountMail(
            values: values, preset: configuration.preset, publicServerURL: configuration.publicServerURL)
        if let policy = values["passwordPolicy"]?.objectValue {
            if let number = policy["maxPasswordAge"]?.numberValue, !(number >= 0) || number.isInfinite {
                throw ConfigurationError("passwordPolicy.maxPasswordAge must be a positive number")
            }
            var rules = Configuration.PasswordPolicy()
            rules.validatorPattern = policy["validatorPattern"]?.stringValue
            if let pattern = rules.validatorPattern, !Pattern.isValid(pattern) {
                throw ConfigurationError("passwordPolicy.validatorPattern must be a regex string or RegExp object.")
            }
            rules.validationError = policy["validationError"]?.stringValue
            rules.doNotAllowUsername = policy["doNotAllowUsername"]?.boolValue ?? false
            rules.maxPasswordAge = policy["maxPasswordAge"]?.numberValue.flatMap { $0 > 0 ? $0 : nil }
            let history = policy["maxPasswordHistory"]?.numberValue ?? 0
            guard let count = Int(exactly: history), (0...20).contains(count) else {
                throw ConfigurationError("passwordPolicy.maxPasswordHistory must be an integer ranging 0 - 20")
            }
            rules.maxPasswordHistory = count
            configuration.passwordPolicy = rules
        }
        if let lockout = values["accountLockout"]?.objectValue {
            guard let duration = lockout["duration"]?.numberValue, duration > 0, duration <= 99_999 else {
                throw ConfigurationError(
                    "Account lockout duration should be greater than 0 and less than 100000")
            }
            guard let threshold = lockout["threshold"]?.numberValue.flatMap(Int.init(exactly:)),
                (1...999).contains(threshold)
            else {
                throw ConfigurationError(
                    "Account lockout threshold should be an integer greater than 0 and less than 1000")
            }
            configuration.accountLockout = Configuration.AccountLockout(
                threshold: threshold, duration: duration,
                unlockOnPasswordReset: lockout["unlockOnPasswordReset"]?.boolValue ?? false)
        }
    }

    private func readFiles(_ configuration: inout Configuration) throws(ConfigurationError) {
        configuration.filesDirectory = string("filesDirectory")
        configuration.preserveFileName = bool("preserveFileName", false)
        configuration.fileKey = string("fileKey")
        configuration.encryptionKey = string("encryptionKey")
        if let adapter = values["filesAdapter"] { try readAdapter(adapter, &configuration) }
        let upload = values["fileUpload"]?.objectValue ?? [:]
        let isOpen = configuration.preset == 4
        configuration.fileUpload.enableForPublic = upload["enableForPublic"]?.boolValue ?? isOpen
        configuration.fileUpload.enableForAnonymousUser = upload["enableForAnonymousUser"]?.boolValue ?? isOpen
        configuration.fileUpload.enableForAuthenticatedUser = upload["enableForAuthenticatedUser"]?.boolValue ?? true
        configuration.fileUpload.fileExtensions = upload["fileExtensions"]?.arrayValue?.compactMap(\.stringValue)
        for pattern in configuration.fileUpload.fileExtensions ?? [] where pattern != "*" && !Pattern.isValid(pattern) {
            throw ConfigurationError("fileUpload.fileExtensions has an invalid pattern \(pattern)")
        }
        if let domains = upload["allowedFileUrlDomains"]?.arrayValue {
            configuration.fileUpload.allowedFileUrlDomains = domains.compactMap(\.stringValue)
        }
        let download = values["fileDownload"]?.objectValue ?? [:]
        configuration.fileDownload.enableForPublic = download["enableForPublic"]?.boolValue ?? true
        configuration.fileDownload.enableForAnonymousUser = download["enableForAnonymousUser"]?.boolValue ?? true
        configuration.fileDownload.enableForAuthenticatedUser =
            download["enableForAuthenticatedUser"]?.boolValue ?? true
    }

    private func readAdapter(_ adapter: JSONValue, _ configuration: inout Configuration) throws(ConfigurationError) {
        let module = adapter.stringValue ?? adapter["module"]?.stringValue ?? ""
        guard module.hasSuffix("fs-files-adapter") else {
            throw ConfigurationError(
                "option filesAdapter: only @parse/fs-files-adapter is built into this version of Roost")
        }
        let options = adapter["options"]?.objectValue ?? [:]
        for (key, value) in options where !value.isNull {
            switch (key, value.stringValue) {
            case ("filesSubDirectory", let folder?) where !folder.contains(".."):
                configuration.filesDirectory = folder.isEmpty ? "files" : "files/\(folder)"
            case ("encryptionKey", let key?) where !key.isEmpty:
                configuration.encryptionKey = key
            default:
                throw ConfigurationError("option filesAdapter.options.\(key) is not built into this version of Roost")
            }
        }
    }

    private func readProtection(_ configuration: inout Configuration) throws(ConfigurationError) {
        if let options = values["idempotencyOptions"]?.objectValue {
            let paths = options["paths"]?.arrayValue?.compactMap(\.stringValue) ?? []
            for path in paths where !Pattern.isValid(path) {
                throw ConfigurationError("idempotency paths must be of an array of strings")
            }
            configuration.idempotencyOptions.paths = paths
            if let ttl = options["ttl"]?.numberValue {
                guard ttl > 0 else { throw ConfigurationError("idempotency TTL value must be greater than 0 seconds") }
                configuration.idempotencyOptions.ttl = min(ttl, LongTime.seconds)
            }
        }
        configuration.routeAllowList = try values["routeAllowList"].map(RouteAllowList.init(json:))
        configuration.rateLimits = try RateLimitOptions.list(values["rateLimit"] ?? .null)
        if bool("accountRateLimit", configuration.preset >= 9) {
            configuration.rateLimits += RateLimitOptions.accounts(pages: configuration.pages.pagesEndpoint)
        }
        configuration.rateLimitStore = try RateLimitOptions.store(values["rateLimitStore"])
        configuration.jobSchedules = bool("jobSchedules", false)
        configuration.maximumJobs = try int("maximumJobs", 100, in: 1...100_000)
        configuration.security.enableCheck = values["security"]?["enableCheck"]?.boolValue ?? false
        configuration.security.enableCheckLog = values["security"]?["enableCheckLog"]?.boolValue ?? false
        if values["security"]?["checkGroups"]?.arrayValue?.isEmpty == false {
            throw ConfigurationError(
                "option security.checkGroups is not built into Roost: checks are JavaScript classes")
        }
        let limits = values["requestComplexity"]?.objectValue ?? [:]
        func limit(_ key: String) throws(ConfigurationError) -> Int? {
            guard let number = limits[key]?.numberValue, number != -1 else { return nil }
            guard number >= 1, let integer = Int(exactly: number) else {
                throw ConfigurationError(
                    "requestComplexity.\(key) must be a positive integer or -1 to disable.")
            }
            return integer
        }
        configuration.requestComplexity.includeDepth = try limit("includeDepth")
        configuration.requestComplexity.includeCount = try limit("includeCount")
        configuration.requestComplexity.subqueryDepth = try limit("subqueryDepth")
        configuration.requestComplexity.subqueryLimit = try limit("subqueryLimit")
        configuration.requestComplexity.queryDepth = try limit("queryDepth")
        configuration.requestComplexity.batchRequestLimit = try limit("batchRequestLimit")
        for key in ["graphQLDepth", "graphQLFields"] { _ = try limit(key) }
        configuration.requestComplexity.allowRegex = limits["allowRegex"]?.boolValue ?? true
    }
}
