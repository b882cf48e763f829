import JSON

extension Configuration {
    /// Applies the values of options to the defaults, and checks the options together.
    ///
    /// - Parameter mistakes: The mistakes found so far.
    /// - Throws: `ConfigurationError` with all mistakes.
    init(
        preset: Int, values: [String: JSONValue], _ mistakes: ConfigurationMistakes
    ) throws(ConfigurationError) {
        self.init(preset: preset)
        var mistakes = mistakes
        for definition in OptionTable.all {
            guard let value = values[definition.name] else { continue }
            do throws(ConfigurationError) {
                try definition.read(value, definition.name, &self)
            } catch {
                mistakes.add(error, definition.name)
            }
        }
        if !expireInactiveSessions { sessionLength = Configuration().sessionLength }
        if sessionLength <= 0 {
            mistakes.add(ConfigurationError("Session length must be a value greater than 0."), "sessionLength")
        }
        if values["verbose"] == true { logLevel = "verbose" }
        if !Self.logLevels.contains(logLevel) {
            mistakes.add(.invalid("logLevel", "one of \(Self.logLevels.joined(separator: ", "))"), "logLevel")
        }
        if !mistakes.concern("appId"), !mistakes.concern("masterKey"), appId.isEmpty || masterKey.isEmpty {
            mistakes.add(keysRequired, appId.isEmpty ? "appId" : "masterKey")
        }
        if !mountPath.hasPrefix("/") { mountPath = "/" + mountPath }
        if serverURL.isEmpty { serverURL = "\(scheme)://localhost:\(port)\(mount)" }
        databaseOptions.schemaCacheTtl = max(100, databaseOptions.schemaCacheTtl)
        // parse-server 9 removed both options.
        if preset >= 9 { (pages.enableRouter, cloudMain.decodesPointers) = (true, true) }
        let endpoint = mistakes.check("pages") { () throws(ConfigurationError) in
            try pages.enableRouter ? Pages.folder(pages.pagesEndpoint) : Pages().pagesEndpoint
        }
        pages.pagesEndpoint = endpoint ?? Pages().pagesEndpoint
        rateLimits += accountRateLimits
        mistakes.check("liveQuery") { () throws(ConfigurationError) in try liveQuery.readClasses(values) }
        mistakes.check("liveQueryServerOptions", beside: ["port", "appId"]) { () throws(ConfigurationError) in
            try liveQuery.readServer(values, appId: appId, port: port)
        }
        checkTogether(&mistakes)
        try mistakes.check()
    }

    private var keysRequired: ConfigurationError {
        let missing = [("appId", appId), ("masterKey", masterKey)].filter { $0.1.isEmpty }.map(\.0)
        let (verb, object) = missing.count == 1 ? ("is", "it") : ("are", "them")
        return ConfigurationError(
            "ERROR: \(missing.joined(separator: " and ")) \(verb) required. Set \(object) in a configuration file "
                + "(roost serve roost.json), or with --\(missing.joined(separator: " and --"))")
    }

    private static let logLevels = ["error", "warn", "info", "verbose", "debug", "silly", "silent"]

    private func checkTogether(_ mistakes: inout ConfigurationMistakes) {
        for (option, key) in [("readOnlyMasterKey", readOnlyMasterKey), ("maintenanceKey", maintenanceKey)] {
            mistakes.refuse(
                option, beside: ["masterKey"], if: masterKey.hasSameBytes(as: key),
                "masterKey and \(option) should be different")
        }
        mistakes.refuse(
            "directDatabaseURI", beside: ["databaseURI"], if: directDatabaseURI != nil && databaseURI == nil,
            "directDatabaseURI requires databaseURI")
        mistakes.refuse(
            "databaseSchema", beside: ["databaseOptions", "directDatabaseURI"],
            if: databaseSchema != nil && databaseOptions.transactionPooler != .none && directDatabaseURI == nil,
            "databaseSchema with a transactionPooler requires directDatabaseURI: index builds need a direct "
                + "connection. Set directDatabaseURI to the PostgreSQL server itself")
        let writers = [
            ("liveQuery", liveQuery.isPublished),
            ("startLiveQueryServer or liveQueryServerOptions", liveQuery.isServed && !liveQuery.isPublished),
            ("rateLimitStore", rateLimitStore == .database),
            ("audit", !audit.events.isEmpty),
        ]
        for (writer, isUsed) in writers {
            mistakes.refuse(
                "readOnly", beside: [writer], if: readOnly && isUsed,
                "readOnly can't be combined with \(writer), which writes to the database")
        }
        mistakes.refuse(
            "metrics", beside: ["port", "host"],
            if: metrics.port == port && port != 0 && IPAddress.overlap(metrics.host, host),
            "metrics.port must differ from port, for example 9464")
        accountMail.check(publicServerURL: publicServerURL, &mistakes)
        for option in OptionTable.all {
            guard let check = option.check else { continue }
            mistakes.check(option.name, beside: check.others) { () throws(ConfigurationError) in try check.run(self) }
        }
    }

    /// Adds protected fields to the default ones.
    ///
    /// - Throws: `ConfigurationError` for invalid values, because ignoring them would leave fields unprotected.
    mutating func protect(_ classes: JSONObject) throws(ConfigurationError) {
        for (className, entities) in classes {
            guard let entities = entities.objectValue, entities.values.allSatisfy(OptionDefinition.Kind.texts.fits)
            else { throw ConfigurationError("option protectedFields.\(className) must be an object of field lists") }
            for (entity, fields) in entities {
                var known = protectedFields[className, default: [:]][entity] ?? []
                for name in fields.names where !known.contains(name) { known.append(name) }
                protectedFields[className, default: [:]][entity] = known
            }
        }
    }

    /// Returns warnings about values that have no effect with the other options or the preset, and about unsafe
    /// settings, such as metrics without a key.
    func warnings(_ values: [String: JSONValue]) -> [String] {
        var warnings = DatabaseOptions.warnings(values["databaseOptions"]?.objectValue ?? [:])
        func warn(if applies: Bool, _ text: String) { if applies { warnings.append(text) } }
        warn(
            if: preset >= 9 && values["encodeParseObjectInCloudFunction"] == false,
            "option encodeParseObjectInCloudFunction has no effect: parse-server 9 removed it; up to preset 8 it can be "
                + "false")
        warn(
            if: preset >= 9 && values["pages"]?["enableRouter"] == false,
            "option pages.enableRouter has no effect: parse-server 9 removed it; up to preset 8 it can be false")
        if pages.enableRouter {
            warnings += customPages.urls.keys.map(\.rawValue).sorted().map {
                "option customPages.\($0) has no effect: the server shows its own pages. To redirect instead, set "
                    + "pages.customUrls"
            }
        }
        for name in ["liveQuery", "liveQueryServerOptions"] {
            for adapter in ["pubSubAdapter", "wssAdapter"] where values[name]?[adapter]?.isNull == false {
                warnings.append(
                    "option \(name).\(adapter) has no effect: processes notify each other through PostgreSQL, and "
                        + "Roost has its own WebSockets")
            }
        }
        warn(
            if: values["startLiveQueryServer"] == false && liveQuery.isServed,
            "option startLiveQueryServer has no effect: liveQueryServerOptions turns live queries on, as in parse-server. "
                + "To turn them off, remove liveQueryServerOptions")
        warn(
            if: metrics.port != nil && !metrics.isLocal && metrics.key == nil,
            "option metrics.host: anyone who can reach the port can read the metrics. Set metrics.key to prevent that")
        warn(
            if: trustProxy == .everybody,
            "option trustProxy: true trusts every client's X-Forwarded-For, so masterKeyIps and the other address lists "
                + "check only its last address, which the nearest proxy added. Set trustProxy to the number of proxies, or "
                + "to their addresses")
        warn(
            if: liveQuery.isServed && !liveQuery.isPublished,
            "option liveQuery.classNames names no class, so clients of live queries get no events. Name the classes whose "
                + "changes are published")
        return warnings + pages.warnings + accountMail.warnings + fileStoreWarnings
    }
}
