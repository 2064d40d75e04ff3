// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gitfolder

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// defaultTimeout bounds how long git takes for one folder.
const defaultTimeout = 2 * time.Minute

// Address is a folder in a Git repository.
type Address struct {
	// Repository is what git fetches from; it has no password.
	Repository string
	// Folder is the path in the repository, with slashes; empty for all of it.
	Folder string
	// Ref is a branch, a tag or a whole commit; empty for what the repository has as HEAD.
	Ref string
	// Timeout bounds how long git takes.
	Timeout time.Duration
}

var (
	// scp is the short form of an SSH address, user@host:path.
	scp = regexp.MustCompile(`^[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:`)
	// unsafeRef is what git does not allow in names, or reads as something else than a name.
	unsafeRef = regexp.MustCompile(`^[-+/]|[\s:^~?*\[\\]|\.\.|@\{|//|/$|\.lock$`)
)

// Parse reads an address in the forms of kustomize: a repository, "//", a folder, and "?ref=". Without "//", the
// repository ends at ".git". The second result is false for what is not the address of a repository: the path of
// a file, or an https:// address with neither of the two, which may be that of a file. In front of it, "git::" says
// that it is a repository. Errors do not have the text in them: it may have a password.
func Parse(text string) (Address, bool, error) {
	rest, forced := strings.CutPrefix(text, "git::")
	location, query, _ := strings.Cut(rest, "?")
	scheme, repository, folder, found := cut(location, forced)
	if !found {
		if forced {
			return Address{}, true, errors.New("git:: must be followed by https://, ssh://, file://, user@host: or github.com/")
		}
		return Address{}, false, nil
	}
	a := Address{Repository: repository}
	var errs []error
	errs = append(errs, checkRepository(scheme, repository))
	var err error
	a.Folder, err = cleanFolder(folder)
	errs = append(errs, err, a.setParameters(query))
	return a, true, errors.Join(errs...)
}

// cut separates the repository from the folder.
func cut(location string, forced bool) (scheme, repository, folder string, found bool) {
	var host, rest string
	switch before, after, hasScheme := strings.Cut(location, "://"); {
	case hasScheme:
		scheme = before
		name, inside, _ := strings.Cut(after, "/")
		host, rest = before+"://"+name, "/"+inside
	case scp.MatchString(location):
		scheme, host = "ssh", scp.FindString(location)
		rest = strings.TrimPrefix(location, host)
	case strings.HasPrefix(location, "github.com/"):
		scheme, host = "https", "https://github.com"
		rest = strings.TrimPrefix(location, "github.com")
	default:
		return "", "", "", false
	}
	// The first slash is that behind the host, or that of an absolute path.
	if i := strings.Index(strings.TrimPrefix(rest, "/"), "//"); i >= 0 {
		i += len(rest) - len(strings.TrimPrefix(rest, "/"))
		return scheme, host + rest[:i], rest[i+2:], true
	}
	if before, after, ok := strings.Cut(rest+"/", ".git/"); ok {
		return scheme, host + before + ".git", after, true
	}
	// An https:// address may be that of a file; what Git alone has is a repository.
	found = forced || scheme == "ssh" || scheme == "file" || scheme == "git"
	return scheme, host + rest, "", found
}

func checkRepository(scheme, repository string) error {
	if strings.ContainsFunc(repository, unicode.IsControl) {
		return errors.New("the address of the repository has control characters")
	}
	if scp.MatchString(repository) {
		return nil
	}
	parsed, err := url.Parse(repository)
	if err != nil {
		return errors.New("the address of the repository is not a valid URL")
	}
	_, password := parsed.User.Password()
	switch {
	case !slices.Contains([]string{"https", "ssh", "file"}, scheme):
		return fmt.Errorf("a repository at %s:// is refused; use https:// or ssh://", scheme)
	case password || scheme != "ssh" && parsed.User != nil:
		return errors.New("an address with a user or password is refused; let git have it from a credential helper, or use ssh://")
	case scheme == "file" && parsed.Host != "":
		return errors.New("file:// must be followed by an absolute path: file:///folder")
	case scheme != "file" && (parsed.Host == "" || strings.HasPrefix(parsed.Host, "-") || strings.HasPrefix(parsed.User.Username(), "-")):
		return errors.New("the address of the repository has no valid host")
	case strings.Trim(parsed.Path, "/") == "":
		return errors.New("the address of the repository has no path")
	}
	return nil
}

func cleanFolder(folder string) (string, error) {
	if slices.Contains(strings.Split(folder, "/"), "..") || strings.ContainsFunc(folder, unicode.IsControl) {
		return "", errors.New("the folder must be in the repository: leave out .. and control characters")
	}
	return strings.TrimPrefix(path.Clean("/"+folder), "/"), nil
}

// setParameters reads what stands behind the question mark.
func (a *Address) setParameters(query string) error {
	a.Timeout = defaultTimeout
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what stands behind ? is not valid; give ?ref=NAME")
	}
	for name := range values {
		if !slices.Contains([]string{"ref", "version", "timeout", "submodules"}, name) {
			return fmt.Errorf("?%s= is not known; give ref, timeout or submodules=false", strings.Join(strings.FieldsFunc(name, unicode.IsControl), ""))
		}
	}
	a.Ref = cmp.Or(values.Get("ref"), values.Get("version"))
	if unsafeRef.MatchString(a.Ref) {
		return errors.New("?ref= must be the name of a branch or a tag, or a whole commit")
	}
	if text := values.Get("timeout"); text != "" {
		timeout, err := time.ParseDuration(text)
		if seconds, plain := strconv.Atoi(text); plain == nil {
			timeout, err = time.Duration(seconds)*time.Second, nil
		}
		if err != nil || timeout <= 0 {
			return errors.New("?timeout= must be a number of seconds, or a duration such as 1m")
		}
		a.Timeout = timeout
	}
	if text := values.Get("submodules"); text != "" && text != "false" {
		return errors.New("?submodules=: submodules are not read; give the address of the submodule's repository as well")
	}
	return nil
}

// String is the address without parameters that don't say where the folder is. It has no password.
func (a Address) String() string { return a.In("") }

// In is the address of a file in the folder, with its path in there.
func (a Address) In(file string) string {
	text := a.Repository + "//" + path.Join(a.Folder, file)
	if a.Ref != "" {
		text += "?ref=" + a.Ref
	}
	return text
}
