// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

// walk is what a test follows of a page, block by block, in this order.
type walk struct {
	page   string
	blocks []string
}

const (
	backupPage    = "docs/backup.md"
	bootstrapPage = "docs/bootstrap.md"
	installPage   = "docs/install.md"
	migratePage   = "docs/migrate.md"
)

// walkedPages are those of which every command is run, or listed as one that can't be.
func walkedPages() []string { return []string{backupPage, bootstrapPage, installPage, migratePage} }

// walks returns what each test follows.
func walks() map[string][]walk {
	return map[string][]walk{
		"TestWalkSQLite": {
			{installPage, []string{"4a. With kustomize", "5. Look", "4a. With kustomize #2", "Upgrading", "Removing"}},
			{backupPage, []string{"SQLite in a cluster", "SQLite in a cluster #2", "Upgrade", "Roll back"}},
		},
		"TestWalkPostgres": {
			{installPage, []string{"3. PostgreSQL only: the database #2", "4a. With kustomize", "5. Look"}},
			{backupPage, []string{"PostgreSQL", "PostgreSQL #2", "Snapshots of volumes #2"}},
		},
		"TestWalkHelm": {
			{installPage, []string{"4b. With Helm #2", "4b. With Helm #3", "5. Look", "docket-controller #2", "Upgrading #2", "Removing #2", "Removing #3"}},
		},
		"TestWalkMigrate": {
			{installPage, []string{"Everything but the APIServices"}},
			{migratePage, []string{
				"Before", "Before #2", "Copy, switch, verify: one command", "Compare again, free the space in etcd",
				"Compare again, free the space in etcd #2", "Back to custom resources",
			}},
		},
		"TestWalkBootstrap": {
			{bootstrapPage, []string{
				"Registering a server: docket bootstrap", "Registering a server: docket bootstrap #2", "What is in the List", "Where CRDs of these groups are installed",
				"From the server: GET /bootstrap/&lt;group&gt;", "The certificate", "Further versions of a group", "Removing it",
			}},
		},
		"TestWalkDatabases": {
			{backupPage, []string{"SQLite on your machine", "SQLite on your machine #2", "Snapshots of volumes"}},
			{migratePage, []string{"From one database to another"}},
		},
	}
}

// notFollowed are blocks that can't be run here, with the reason.
func notFollowed() map[string]string {
	const docker, certManager = "there is no Docker here, nor a registry", "cert-manager has no Go module of its own that could be built for a test"
	return map[string]string{
		installPage + ": 2. The image":                docker,
		installPage + ": docket-controller":           docker,
		installPage + ": 4a. With kustomize #3":       certManager,
		installPage + ": 4b. With Helm":               certManager,
		installPage + ": Another namespace":           "the objects are those of TestDeploy, by sed",
		migratePage + ": From kyverno/reports-server": "reports-server has a test of its own, with its tables: internal/migrate/reportsserver",
	}
}
