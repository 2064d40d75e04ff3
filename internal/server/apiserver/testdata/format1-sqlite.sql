PRAGMA application_id = 218910320;
CREATE TABLE cluster (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL -- Unix milliseconds
, uid TEXT) STRICT;
CREATE TABLE event (
    cluster           INTEGER NOT NULL,
    revision          INTEGER NOT NULL,
    resource          INTEGER NOT NULL,
    key               TEXT    NOT NULL,
    kind              INTEGER NOT NULL, -- 1 create, 2 update, 3 delete
    created           INTEGER NOT NULL,
    previous_revision INTEGER NOT NULL, -- 0 for create
    previous_codec    INTEGER NOT NULL,
    previous_size     INTEGER NOT NULL,
    previous_data     BLOB,             -- null for create
    committed_at      INTEGER NOT NULL, -- Unix milliseconds
    total_bytes       INTEGER NOT NULL, -- sum of what events take up to here
    PRIMARY KEY (cluster, revision)
) STRICT, WITHOUT ROWID;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE large (
    cluster INTEGER NOT NULL,
    object  INTEGER NOT NULL, -- report.object and result.object
    created INTEGER NOT NULL, -- object.created; 0 before the report is there, -1 when it is gone
    results INTEGER NOT NULL, -- the positions of its results are below
    PRIMARY KEY (cluster, object)
) STRICT, WITHOUT ROWID;
CREATE TABLE object (
    cluster    INTEGER NOT NULL,
    resource   INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    revision   INTEGER NOT NULL, -- that wrote data
    created    INTEGER NOT NULL, -- revision that created the object
    expires_at INTEGER NOT NULL, -- Unix seconds; 0 is never
    size       INTEGER NOT NULL, -- of data when it is decoded
    codec      INTEGER NOT NULL,
    data       BLOB    NOT NULL, derived INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (cluster, resource, key)
) STRICT;
CREATE TABLE report (
    cluster    INTEGER NOT NULL,
    object     INTEGER NOT NULL, -- object.created
    resource   INTEGER NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    uid        TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    created_at INTEGER NOT NULL, -- Unix seconds
    scope      INTEGER,          -- subject.id
    pass       INTEGER NOT NULL,
    fail       INTEGER NOT NULL,
    warn       INTEGER NOT NULL,
    error      INTEGER NOT NULL,
    skip       INTEGER NOT NULL,
    PRIMARY KEY (cluster, object)
) STRICT, WITHOUT ROWID;
CREATE TABLE resource (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE
) STRICT;
CREATE TABLE result (
    cluster  INTEGER NOT NULL,
    object   INTEGER NOT NULL, -- report.object
    position INTEGER NOT NULL, -- among the rows of the report, from 0
    idx      INTEGER NOT NULL, -- of the entry in the report
    verdict  INTEGER NOT NULL, -- verdict.id
    subject  INTEGER,          -- subject.id; null for report.scope
    seconds  INTEGER NOT NULL, -- Unix time; 0 for none
    PRIMARY KEY (cluster, object, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE revision (
    cluster       INTEGER NOT NULL PRIMARY KEY,
    revision      INTEGER NOT NULL, -- of the last change; the first is 2
    compacted     INTEGER NOT NULL, -- events up to here are gone or going
    incarnation   INTEGER NOT NULL,
    history_bytes INTEGER NOT NULL  -- sum of what events take (engine.EventBytes), over all time
, min_reader INTEGER NOT NULL DEFAULT 0, min_writer INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE subject (
    cluster     INTEGER NOT NULL,
    id          INTEGER NOT NULL,
    api_version TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    uid         TEXT    NOT NULL,
    PRIMARY KEY (cluster, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE term (
    cluster  INTEGER NOT NULL,
    resource INTEGER NOT NULL,
    name     INTEGER NOT NULL,
    value    INTEGER NOT NULL,
    created  INTEGER NOT NULL,
    PRIMARY KEY (cluster, resource, name, value, created)
) STRICT, WITHOUT ROWID;
CREATE TABLE total (
    cluster  INTEGER NOT NULL,
    resource INTEGER NOT NULL,
    objects  INTEGER NOT NULL,
    bytes    INTEGER NOT NULL, -- sum of object.size
    results  INTEGER NOT NULL, complete INTEGER NOT NULL DEFAULT 0, building INTEGER NOT NULL DEFAULT 0, highest INTEGER NOT NULL DEFAULT 0, mark INTEGER NOT NULL DEFAULT 0, -- rows in result
    PRIMARY KEY (cluster, resource)
) STRICT, WITHOUT ROWID;
CREATE TABLE verdict (
    cluster    INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    source     TEXT    NOT NULL,
    policy     TEXT    NOT NULL,
    rule       TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    severity   TEXT    NOT NULL,
    result     TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    scored     INTEGER NOT NULL, -- 0 or 1
    properties TEXT    NOT NULL, -- JSON object; '' for none
    PRIMARY KEY (cluster, id)
) STRICT, WITHOUT ROWID;
INSERT INTO cluster VALUES (1, 'default', 1795428062533, NULL);
INSERT INTO event VALUES (1, 2, 2, 'fixture/first', 1, 2, 0, 0, 0, NULL, 1795428062596, 313);
INSERT INTO event VALUES (1, 3, 2, 'fixture/second', 1, 3, 0, 0, 0, NULL, 1795428062606, 627);
INSERT INTO event VALUES (1, 4, 2, 'fixture/gone', 1, 4, 0, 0, 0, NULL, 1795428062619, 939);
INSERT INTO event VALUES (1, 5, 2, 'fixture/second', 2, 3, 3, 1, 2161, X'28B52FFD67714E0C0D7107AD0D00824E312A90A70DF0DDDDC955441C7CA398EF2E92DCF8B9645B126612590990F028A5A97553C296D58531EFCC0813B53673AAA164264ACF249D7F01F3DF1D75270792FC5E2EF3E3637E7C4C2872081439C4890E9DE850D5BA14ADB629888DA34669FA33237F555DB66E09566DAF5B776088342C4412B50DE65129196C2351487848E6F44F268246075755040ABDE82CFC94362C05EAE38FAEDA753BD17F1E5BAE975B3D9060DCCDCAA2156629AC196C8D61A23937C60260672C1A3706B6022EEF45123D881092CB0B4F00B9A116D1192AC11FE58160C462A81B9C862A0164F9AD66CF064C9B316342EA4158A11ED019AA810FC9C883018B8020414D01C081521700488200147D90A0A600E040A90B002441008A3E4850530070A0D4050092208022526B0E9C9B1A323C10F21B2BE40364F5F9AA4136A2B898C1FFCCC1B66CD035042B95212C01421270BC66D71B07A0FCE1C0E54F0231FB109B4D489022345C131200B2057F656283C53D1C18101F04727B60E0C4F7C0DB46B54D06D07C12089C0033140086A06503FAF93C9AD027AE92812B2003BAEB0389809EB2177A48D8D60D4267B81210B987038ACB5060AD326CC8E2EE0001F6E751B0', 1795428062634, 1708);
INSERT INTO event VALUES (1, 6, 2, 'fixture/gone', 3, 4, 4, 1, 2145, X'28B52FFD67714E0C0D6107AD0D00E24E322A90A70DF0DDDDC955441C7CA3586F5D24B9F153C8B6442D9FF66A80844729256BDB969AEE8598D7EE9609B532A529F6243B708A20127A1F98FFCDA80B81A2647FD9CC878EF9D031A3D48F28F50382FD20D84FD5BA18A6F669C08751E134FBD991BFAAAEB26DDDAA65DBB61D18220D0B9144EDC2712A27835D240A090FC99CFDC904A0B0BD551581468750C34FE9C392A046ED74D56E5B08FDC895D5D86A8B152014668C13026F5114EDF86A1CC3CE291CBBC5176E2600C18F25DEE2FAB934D103F8A26C6C5B8F3A064E00A9A116D1182AC115E58160C45EA81B5C862A816119ABA7670896CD83D120F520A6500F880CD5C08164E4B580454090A0A600E040A90B002431008A3E4850530070A0D40500921800451F24A829003850EA0200490C4011A83507CECD0B199E06F98D12F201A6FA7CA5201BF15BCC807FE6005B36D81A8295CA9095006108385E83EB8D0344FE7080F22781927D889D262438110EA6095F00D782BF31B1C1E11E0E8C870F02B73D3050E27BA06DA3D62603663E09044E70190A0043CFB201F97C1E2DE813D7C8BC159001D5F58104404FD90A3D24D4E14A60E41E0E282E4381B5CAB0218BBB03045E03D873', 1795428062665, 2475);
INSERT INTO goose_db_version VALUES (1, 0, 1, '2026-11-23 10:01:02');
INSERT INTO goose_db_version VALUES (2, 1, 1, '2026-11-23 10:01:02');
INSERT INTO goose_db_version VALUES (3, 2, 1, '2026-11-23 10:01:02');
INSERT INTO goose_db_version VALUES (4, 3, 1, '2026-11-23 10:01:02');
INSERT INTO goose_db_version VALUES (5, 4, 1, '2026-11-23 10:01:02');
INSERT INTO goose_db_version VALUES (6, 5, 1, '2026-11-23 10:01:02');
INSERT INTO goose_db_version VALUES (7, 6, 1, '2026-11-23 10:01:02');
INSERT INTO object VALUES (1, 2, 'fixture/first', 2, 2, 0, 2153, 1, X'28B52FFD67714E0C0D6907AD0D00024F322990A70DF0DDDDC955441C7CA3586F5D24B9F173C9664F964264EA808447A91442BA89F25E8879ED6E99B5B2E6148B921B9FA0877C1E06CCFF5ED47D3C9164F8F2CDF7C67C6FCC486A4724B5E3F18E8F7754B5AE85A97508DC59549F663F37F257D56DEB96B16AD9BAED86850706850744ADA281544E05AB4012101C9039FB910940DDC555F58046D09FC74FA9C352A0420DE9AA5DB70FFA106CCBB1E5161B481A33C6897ECB6212047C6B3D6E5A82C10AE229AC308BE196C486590B83D2440D3CD229795CB710EA284E00B1A11651192AC11AE58160C460A81B7C862AC162D92D5ACF063C9B310342EA4152A11E7019AA8109C9C877018B8020414D01C081521700487200147D90A0A600E040A90B002439008A3E4850530070A0D40500921C8022516B0E9C1B1932BC0EF21B28E40358F5F97A413642B89861FFCC61B66CC035042B95A12B8122980F0146C041D85C6F1C50F28783953F09ACEC43AC3521018A78504DF802C016FC91890D12F770603E7C10C0ED810113DF036E1BC5361938F3492070C2CB5000187E960DD8E7F3E8419FB84846AB800CC8AE0F24017A8A6DA1A7CBC83D1C505C86026B9561431677070842937B4E', 1);
INSERT INTO object VALUES (1, 2, 'fixture/second', 5, 3, 0, 2138, 1, X'28B52FFD67714E0C0D5A07550D00220E302990370650638C1BD714415343C5DAF349DE44E45E24BF222241FF121C86CB25FB625B4021CDFD4C1E21F7BA62C8E16C171F886436F405544ABF7159D2C8D98FCE56697C541A1F553A1F91CE479AF8B0890FD1BD29E1881947641A373EF569BB49195D56CC9880113B337E0685C942C24441CC70CFCEA780190AC2418352EB53A51E6CB4F2C5A635B596E92970D93D877CA63163C83FAB12F3C4920F2054BBF7A2F0C5A545B9826B3544ACEFB54800FD0BC5EAE5A027607BCF79AC418472B6174D00A2A11661182AC11FE58160045DA81B40862A0164F9AD38CF06189B31F340EA4141A11E6018AA810FC9C855018B8020414D01C081521700488200147D90A0A600E040A90B002441008A3E4850530070A0D4050092208022526B0E9C1B0F32BC04F21B14E40308F5F93A4036C2B598E1FCCCE1B36CD035042B95612601820C70BCF6D51B0744FCE1E0E24F0203FB102B4C48D82134001312009B05FF596203BA3D1C580A1F045B7B6070C3F7606C0630E69340E00493A10030DC2C1B30CFE751FEF9880B9017DDF5814F404FB10B3D046CEB06A1335C0988DCC301C56528B05619366471778061B81E29', 1);
INSERT INTO report VALUES (1, 2, 2, 'fixture', 'first', '1708df32-8084-4c54-b62d-c00ce53807ca', 'PolicyReport', '', 1795428062, -2897745630236645501, 2, 1, 1, 0, 1);
INSERT INTO report VALUES (1, 3, 2, 'fixture', 'second', 'ecf71fd5-589a-4095-a53f-55f21260d618', 'PolicyReport', '', 1795428062, 6645363568084869180, 2, 1, 1, 0, 1);
INSERT INTO resource VALUES (1, '/docket.dev/holds/');
INSERT INTO resource VALUES (2, '/wgpolicyk8s.io/policyreports/');
INSERT INTO result VALUES (1, 2, 0, 0, 9173031512553065064, -5741651649006773937, 1700000000);
INSERT INTO result VALUES (1, 2, 1, 1, -7549655659285489163, 2646260690266882841, 1700000000);
INSERT INTO result VALUES (1, 2, 2, 2, -5626695421095075869, -504271050419292326, 1700000000);
INSERT INTO result VALUES (1, 2, 3, 3, -1389147108139741025, -4129437831140746310, 1700000000);
INSERT INTO result VALUES (1, 2, 4, 4, 7326972823281183826, NULL, 0);
INSERT INTO result VALUES (1, 3, 0, 0, -3661696042355471641, -5741651649006773937, 1700000000);
INSERT INTO result VALUES (1, 3, 1, 1, 7955775838970468052, 2646260690266882841, 1700000000);
INSERT INTO result VALUES (1, 3, 2, 2, 2611118095060760944, -504271050419292326, 1700000000);
INSERT INTO result VALUES (1, 3, 3, 3, 668044555604438073, -4129437831140746310, 1700000000);
INSERT INTO result VALUES (1, 3, 4, 4, 7326972823281183826, NULL, 0);
INSERT INTO revision VALUES (1, 6, 0, 1795428062534, 2475, 1, 0);
INSERT INTO subject VALUES (1, -5741651649006773937, 'v1', 'Pod', 'fixture', 'pod-pass', 'uid-pass');
INSERT INTO subject VALUES (1, -4129437831140746310, 'v1', 'Pod', 'fixture', 'pod-skip', 'uid-skip');
INSERT INTO subject VALUES (1, -2897745630236645501, 'apps/v1', 'Deployment', 'fixture', 'first', 'uid-of-first');
INSERT INTO subject VALUES (1, -504271050419292326, 'v1', 'Pod', 'fixture', 'pod-warn', 'uid-warn');
INSERT INTO subject VALUES (1, 2646260690266882841, 'v1', 'Pod', 'fixture', 'pod-fail', 'uid-fail');
INSERT INTO subject VALUES (1, 3155969974011048018, 'apps/v1', 'Deployment', 'fixture', 'gone', 'uid-of-gone');
INSERT INTO subject VALUES (1, 6645363568084869180, 'apps/v1', 'Deployment', 'fixture', 'second', 'uid-of-second');
INSERT INTO term VALUES (1, 2, -5287524843006055295, -4439004132851512075, 2);
INSERT INTO term VALUES (1, 2, 1412733061890673626, -3704169462283464870, 2);
INSERT INTO term VALUES (1, 2, 4013080601706306514, -1205034819632174695, 2);
INSERT INTO term VALUES (1, 2, -5287524843006055295, -8147580078425088120, 3);
INSERT INTO term VALUES (1, 2, 1412733061890673626, 4227433218029428706, 3);
INSERT INTO total VALUES (1, 2, 2, 4291, 10, 1, 1, 1, 2);
INSERT INTO verdict VALUES (1, -7549655659285489163, 'kyverno', 'require-first', 'check', '', 'high', 'fail', 'it''s fail — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, -5626695421095075869, 'kyverno', 'require-first', 'check', '', 'high', 'warn', 'it''s warn — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, -3661696042355471641, 'kyverno', 'require-second', 'check', '', 'high', 'pass', 'it''s pass — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, -3466657360974463742, 'kyverno', 'require-gone', 'check', '', 'high', 'fail', 'it''s fail — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, -1935356737545124482, 'kyverno', 'require-gone', 'check', '', 'high', 'pass', 'it''s pass — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, -1389147108139741025, 'kyverno', 'require-first', 'check', '', 'high', 'skip', 'it''s skip — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, 668044555604438073, 'kyverno', 'require-second', 'check', '', 'high', 'skip', 'it''s skip — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, 2363947921114645672, 'kyverno', 'require-gone', 'check', '', 'high', 'skip', 'it''s skip — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, 2611118095060760944, 'kyverno', 'require-second', 'check', '', 'high', 'warn', 'it''s warn — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, 4878847047453128470, 'kyverno', 'require-gone', 'check', '', 'high', 'warn', 'it''s warn — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, 7326972823281183826, '', 'scope-only', '', '', '', 'pass', '', 0, '');
INSERT INTO verdict VALUES (1, 7955775838970468052, 'kyverno', 'require-second', 'check', '', 'high', 'fail', 'it''s fail — "quoted", 日本', 1, '{"a":"1","b":"2"}');
INSERT INTO verdict VALUES (1, 9173031512553065064, 'kyverno', 'require-first', 'check', '', 'high', 'pass', 'it''s pass — "quoted", 日本', 1, '{"a":"1","b":"2"}');
CREATE INDEX event_key ON event (cluster, resource, key, revision);
CREATE INDEX large_created ON large (cluster, created);
CREATE UNIQUE INDEX object_created ON object (cluster, created);
CREATE INDEX object_expires ON object (cluster, expires_at) WHERE expires_at > 0;
CREATE INDEX report_scope ON report (cluster, scope) WHERE scope IS NOT NULL;
CREATE INDEX result_subject ON result (cluster, subject) WHERE subject IS NOT NULL;
CREATE INDEX result_verdict ON result (cluster, verdict, subject);
CREATE INDEX subject_name ON subject (name, namespace);
CREATE INDEX subject_uid ON subject (uid);
CREATE INDEX term_object ON term (cluster, created);
CREATE VIEW clusters AS
SELECT
    cluster.name AS name,
    strftime('%Y-%m-%dT%H:%M:%SZ', cluster.created_at / 1000, 'unixepoch') AS first_seen,
    (SELECT count(*) FROM report WHERE report.cluster = cluster.id) AS reports,
    (SELECT coalesce(sum(total.results), 0) FROM total WHERE total.cluster = cluster.id) AS results
FROM cluster;
CREATE VIEW policy_report_summaries AS
SELECT
    cluster.name        AS cluster,
    report.namespace    AS namespace,
    report.kind         AS report_kind,
    report.name         AS report,
    report.uid          AS uid,
    report.source       AS source,
    subject.api_version AS scope_api_version,
    subject.kind        AS scope_kind,
    subject.namespace   AS scope_namespace,
    subject.name        AS scope_name,
    subject.uid         AS scope_uid,
    report.pass         AS pass,
    report.fail         AS fail,
    report.warn         AS warn,
    report.error        AS error,
    report.skip         AS skip,
    report.pass + report.fail + report.warn + report.error + report.skip AS total,
    strftime('%Y-%m-%dT%H:%M:%SZ', nullif(report.created_at, 0), 'unixepoch') AS created_at
FROM report
LEFT JOIN cluster ON cluster.id = report.cluster
LEFT JOIN subject ON subject.cluster = report.cluster AND subject.id = report.scope;
CREATE VIEW policy_result_counts AS
SELECT
    cluster.name     AS cluster,
    verdict.source   AS source,
    verdict.policy   AS policy,
    verdict.rule     AS rule,
    verdict.category AS category,
    verdict.severity AS severity,
    verdict.result   AS result,
    verdict.scored   AS scored,
    verdict.message  AS message,
    (SELECT count(*) FROM result WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id
        AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object))) AS results
FROM verdict
LEFT JOIN cluster ON cluster.id = verdict.cluster
WHERE EXISTS (SELECT 1 FROM result WHERE result.cluster = verdict.cluster AND result.verdict = verdict.id
    AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object)));
CREATE VIEW policy_results AS
SELECT
    cluster.name                AS cluster,
    report.namespace            AS namespace,
    report.kind                 AS report_kind,
    report.name                 AS report,
    report.uid                  AS report_uid,
    result.idx                  AS result_index,
    verdict.source              AS source,
    verdict.policy              AS policy,
    verdict.rule                AS rule,
    verdict.category            AS category,
    verdict.severity            AS severity,
    verdict.result              AS result,
    verdict.scored              AS scored,
    subject.api_version         AS subject_api_version,
    subject.kind                AS subject_kind,
    subject.namespace           AS subject_namespace,
    subject.name                AS subject_name,
    subject.uid                 AS subject_uid,
    verdict.message             AS message,
    strftime('%Y-%m-%dT%H:%M:%SZ', nullif(result.seconds, 0), 'unixepoch') AS timestamp,
    nullif(verdict.properties, '') AS properties
FROM result
JOIN verdict ON verdict.cluster = result.cluster AND verdict.id = result.verdict
LEFT JOIN cluster ON cluster.id = result.cluster
LEFT JOIN report ON report.cluster = result.cluster AND report.object = result.object
LEFT JOIN subject ON subject.cluster = result.cluster AND subject.id = result.subject
WHERE result.subject IS NOT NULL
    AND (result.object > 0 OR EXISTS (SELECT 1 FROM report WHERE report.cluster = result.cluster AND report.object = result.object))
UNION ALL
SELECT
    cluster.name,
    report.namespace,
    report.kind,
    report.name,
    report.uid,
    result.idx,
    verdict.source,
    verdict.policy,
    verdict.rule,
    verdict.category,
    verdict.severity,
    verdict.result,
    verdict.scored,
    subject.api_version,
    subject.kind,
    subject.namespace,
    subject.name,
    subject.uid,
    verdict.message,
    strftime('%Y-%m-%dT%H:%M:%SZ', nullif(result.seconds, 0), 'unixepoch'),
    nullif(verdict.properties, '')
FROM result
JOIN verdict ON verdict.cluster = result.cluster AND verdict.id = result.verdict
LEFT JOIN cluster ON cluster.id = result.cluster
JOIN report ON report.cluster = result.cluster AND report.object = result.object
LEFT JOIN subject ON subject.cluster = result.cluster AND subject.id = report.scope
WHERE result.subject IS NULL;
CREATE VIEW sql_contract AS SELECT 1 AS version;
