import JSON

extension OptionReader {
    /// What to tell about values without effect of options that have one elsewhere: beside others, or below another
    /// preset.
    func warnings(_ configuration: Configuration) -> [String] {
        var warnings = Configuration.DatabaseOptions.warnings(values["databaseOptions"]?.objectValue ?? [:])
        if configuration.preset >= 9 {
            if values["encodeParseObjectInCloudFunction"] == false {
                warnings.append(
                    "option encodeParseObjectInCloudFunction has no effect: parse-server 9 removed it; up to preset 8 it "
                        + "can be false")
            }
            if values["pages"]?["enableRouter"] == false {
                warnings.append(
                    "option pages.enableRouter has no effect: parse-server 9 removed it; up to preset 8 it can be false"
                )
            }
        }
        if configuration.pages.enableRouter {
            warnings += configuration.customPages.urls.keys.map(\.rawValue).sorted().map {
                "option customPages.\($0) has no effect: the server answers with pages, and redirects to none; "
                    + "pages.customUrls names addresses in their place"
            }
        }
        return warnings
    }
}
