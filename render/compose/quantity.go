package compose

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// gibibytes is a Kubernetes quantity of bytes in GiB.
func gibibytes(text string) (float64, error) {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no quantity", text)
	}
	return quantity.AsApproximateFloat64() / (1 << 30), nil
}

// vcpus is a Kubernetes quantity of processors, to the thousandth.
func vcpus(text string) (float64, error) {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no quantity", text)
	}
	return float64(quantity.MilliValue()) / 1000, nil
}
