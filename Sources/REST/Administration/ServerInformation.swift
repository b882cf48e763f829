import HTTP
import JSON
import ServerConfiguration

/// What the server says it can do: Parse Dashboard decides by it which menus it shows.
enum ServerInformation {
    static func report(_ configuration: Configuration, hasJobs: Bool) -> JSONObject {
        let all: JSONValue = ["create": true, "read": true, "update": true, "delete": true]
        return [
            "features": [
                "globalConfig": all,
                "hooks": all,
                "cloudCode": ["jobs": .bool(hasJobs)],
                "logs": ["level": true, "size": true, "order": true, "until": true, "from": true],
                "push": [
                    "immediatePush": .bool(configuration.push != nil),
                    "scheduledPush": .bool(configuration.push != nil && configuration.schedulesPushes),
                    "storedPushData": .bool(configuration.push != nil), "pushAudiences": true, "localization": true,
                ],
                "schemas": [
                    "addField": true, "removeField": true, "addClass": true, "removeClass": true,
                    "clearAllDataFromClass": true, "exportClass": false, "editClassLevelPermissions": true,
                    "editPointerPermissions": true,
                ],
                "settings": ["securityCheck": .bool(configuration.security.enableCheck)],
            ],
            "parseServerVersion": .string(configuration.parseServerVersion),
        ]
    }
}
