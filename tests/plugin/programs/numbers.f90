! SPDX-License-Identifier: MIT
!
! Fortran: recursion, internal procedures passed as arguments, allocatable and automatic arrays, derived types, output.
module work
  implicit none
  type :: point
    real(8) :: x, y
  end type point
contains
  recursive integer function fibonacci(n) result(value)
    integer, intent(in) :: n
    if (n < 2) then
      value = n
    else
      value = fibonacci(n - 1) + fibonacci(n - 2)
    end if
  end function fibonacci

  real(8) function integrate(f, a, b, steps)
    interface
      real(8) function f(x)
        real(8), intent(in) :: x
      end function f
    end interface
    real(8), intent(in) :: a, b
    integer, intent(in) :: steps
    integer :: i
    integrate = 0
    do i = 1, steps
      integrate = integrate + f(a + (b - a) * (i - 0.5d0) / steps) * (b - a) / steps
    end do
  end function integrate

  function reversed(text) result(back)
    character(*), intent(in) :: text
    character(len(text)) :: back
    integer :: i
    do i = 1, len(text)
      back(i:i) = text(len(text) + 1 - i:len(text) + 1 - i)
    end do
  end function reversed

  subroutine many(a, b, c, d, e, f, g, h, total)
    integer, intent(in) :: a, b, c, d, e, f, g, h
    integer, intent(out) :: total
    integer :: automatic(a + b)
    automatic = c
    total = sum(automatic) + d + e + f + g + fibonacci(h)
  end subroutine many
end module work

program numbers
  use work
  implicit none
  integer :: total
  real(8) :: factor
  real(8), allocatable :: values(:)
  type(point) :: p

  factor = 3
  allocate (values(100))
  call random_seed()
  values = [(fibonacci(mod(total, 10)) * 1d0, total=1, 100)]
  p = point(sum(values), maxval(values))
  call many(1, 2, 3, 4, 5, 6, 7, 8, total)
  print '(i0,1x,i0,1x,f0.4)', fibonacci(15), total, integrate(scaled, 0d0, 1d0, 100)
  print '(a,1x,f0.2,1x,f0.2)', reversed('stack'), p%x, p%y
contains
  real(8) function scaled(x)
    real(8), intent(in) :: x
    scaled = factor * x * x
  end function scaled
end program numbers
