import JSON

extension OptionTable {
    static let pushes: [OptionDefinition] = [
        OptionDefinition(
            "push", "PARSE_SERVER_PUSH", .object,
            "Push services by device type (ios, osx, tvos, watchos, android, fcm, web, expo), and settings for sending",
            members: [
                .member("ios", .any), .member("osx", .any), .member("tvos", .any), .member("watchos", .any),
                .member("android", .any), .member("fcm", .any), .member("web", .any), .member("expo", .any),
                .member("queueOptions", .object), .member("adapter", .any), .member("delivery", .string),
                .member("cleanupInvalidTokens", .boolean), .member("maxScheduleDays", .number),
                .member("keepStatusDays", .number), .member("dryRun", .string),
            ]
        ) { value, _, configuration throws(ConfigurationError) in
            guard let object = value.objectValue else { return }
            configuration.push = try Configuration.Push(json: object)
        },
        .flag(
            "scheduledPush", "PARSE_SERVER_SCHEDULED_PUSH", \.schedulesPushes,
            "Sends a push notification with a push_time at that time; false sends it at once"),
    ]
}

extension Configuration {
    /// The option `push`: the push services and the push queue.
    public struct Push: Sendable {
        /// A push service for one type of device.
        public enum Service: Sendable {
            case apple(ApplePush)
            case firebase(FirebasePush)
            case web(WebPush)
            case expo(ExpoPush)
        }

        /// The services by device type. Those of a type are tried in order, but APNs in production comes first.
        public internal(set) var services: [Name: [Service]] = [:]
        /// The number of devices of a type that a process sends to at once.
        public internal(set) var batchSize = 500
        /// Whether this process sends pushes. Otherwise it only enqueues them.
        public internal(set) var isSent = true
        /// Whether notifications that may already have been sent are abandoned instead of sent again.
        public internal(set) var isAtMostOnce = false
        /// Whether device tokens that the service reports as invalid are removed.
        public internal(set) var cleansTokens = true
        /// The maximum number of days that a push can be scheduled ahead, or nil for no limit.
        public internal(set) var maxScheduleDays: Double?
        /// The number of days after which rows of finished pushes are deleted, or nil to retain them.
        public internal(set) var keepStatusDays: Double?
        /// The folder that relative paths of keys are resolved in.
        public internal(set) var folder = "."

        /// - Throws: `ConfigurationError` for unsupported services and invalid settings.
        init(json: JSONObject) throws(ConfigurationError) {
            var options = json
            if let adapter = options.removeValue(forKey: "adapter"), !adapter.isNull {
                options.merge(try Self.options(ofAdapter: adapter)) { own, _ in own }
            }
            for (key, value) in options where !value.isNull {
                switch key {
                case "ios", "osx", "tvos", "watchos":
                    services[key] = try PushServiceReader.entries(value).map { entry throws(ConfigurationError) in
                        try PushServiceReader.apple(entry, type: key.text)
                    }
                case "android", "fcm":
                    services[key] = try PushServiceReader.entries(value).map { entry throws(ConfigurationError) in
                        .firebase(try PushServiceReader.android(entry))
                    }
                case "web":
                    services[key] = [.web(try PushServiceReader.web(value))]
                case "expo":
                    guard let entry = value.objectValue else {
                        throw ConfigurationError("option push.expo: EXPO Push Configuration is invalid: not an object")
                    }
                    services[key] = [
                        .expo(
                            ExpoPush(
                                accessToken: entry["accessToken"]?.stringValue,
                                endpoint: try PushServiceReader.endpoint(entry, "https://exp.host", "push.expo")))
                    ]
                case "queueOptions", "delivery", "cleanupInvalidTokens", "maxScheduleDays", "keepStatusDays", "dryRun":
                    break
                default: throw ConfigurationError("option push: Push to \(key) is not supported")
                }
            }
            try readSending(options)
        }

        private mutating func readSending(_ options: JSONObject) throws(ConfigurationError) {
            let queue = options["queueOptions"]?.objectValue ?? [:]
            if let size = queue["batchSize"]?.numberValue {
                guard let size = Int(exactly: size), (1...10_000).contains(size) else {
                    throw ConfigurationError("option push.queueOptions.batchSize must be between 1 and 10000")
                }
                batchSize = size
            }
            isSent = queue["disablePushWorker"]?.boolValue != true
            switch options["delivery"]?.stringValue {
            case nil, "atLeastOnce": break
            case "atMostOnce": isAtMostOnce = true
            case let other?:
                throw ConfigurationError("option push.delivery must be atLeastOnce or atMostOnce, not \(other)")
            }
            cleansTokens = options["cleanupInvalidTokens"]?.boolValue ?? true
            if let days = options["maxScheduleDays"]?.numberValue {
                guard days > 0 else { throw ConfigurationError("option push.maxScheduleDays must be more than 0") }
                maxScheduleDays = days
            }
            if let days = options["keepStatusDays"]?.numberValue {
                guard days >= 0 else { throw ConfigurationError("option push.keepStatusDays must be 0 or more") }
                keepStatusDays = days == 0 ? nil : days
            }
            try readTrials(options["dryRun"])
        }

        private mutating func readTrials(_ option: JSONValue?) throws(ConfigurationError) {
            switch option {
            case nil, .null?, "none"?: break
            case "provider"?:
                for (type, entries) in services {
                    services[type] = entries.map { entry in
                        guard case .firebase(var settings) = entry else { return entry }
                        settings.asksInTrials = true
                        return .firebase(settings)
                    }
                }
            case let other?:
                throw ConfigurationError("option push.dryRun must be none or provider, not \(other.text)")
            }
        }

        private static func options(ofAdapter adapter: JSONValue) throws(ConfigurationError) -> JSONObject {
            let name = adapter.stringValue ?? adapter["module"]?.stringValue ?? ""
            guard name.hasSuffix("push-adapter"), !name.contains("onesignal"), !name.contains("sns") else {
                let described = name.isEmpty ? "of that kind" : name
                throw ConfigurationError(
                    "option push.adapter: the adapter \(described) is not supported. Roost sends to APNs, FCM, web "
                        + "push and Expo itself: configure push.ios, push.android, push.web or push.expo")
            }
            return adapter["options"]?.objectValue ?? [:]
        }

        public func serves(_ type: Name) -> Bool { services[type]?.isEmpty == false }
    }
}
