// Package definitions holds, by its go.mod, the types that custom resource definitions are generated from, and the
// generator.
package definitions

import _ "github.com/fluxcd/helm-controller/api/v2" // its types are read by the generator
